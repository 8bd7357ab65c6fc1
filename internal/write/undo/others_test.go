package undo_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/base/folding"
	"github.com/alds-dev/alds/internal/model/catalog"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/bulk"
	"github.com/alds-dev/alds/internal/write/undo"
)

func (w *world) one(command string) string {
	w.t.Helper()
	return w.must(command).AssetsCreated.OIDTokens[0]
}

func (w *world) project(name string) string {
	w.t.Helper()
	return w.one(`{"AssetType":"Scope","Name":"` + name + `","Parent":"Scope:0","BeginDate":"2026-01-01"}`)
}

func (w *world) story(name, in string) string {
	w.t.Helper()
	return w.one(`{"AssetType":"Story","Name":"` + name + `","Scope":"` + in + `"}`)
}

func (w *world) column(token, column string) (v string) {
	w.t.Helper()
	_, id, _ := strings.Cut(token, ":")
	w.each(`SELECT `+column+` FROM asset WHERE id = `+id, 1, func(c []any) { v = fmt.Sprint(c[0]) })
	return v
}

// clean takes back a request as System, and wants no conflict and no failure.
func (w *world) clean(why, id string) answer {
	w.t.Helper()
	a, err := w.take(auth.System, `{"requestId":"`+id+`"}`)
	if err != nil || !a.Undone {
		w.t.Errorf("%s: not undone: %v %+v %s", why, err, a.Conflicts, a.Failures.List)
	}
	return a
}

// Order of commands.
func TestNewWithParts(t *testing.T) {
	each(t, func(w *world) {
		// New story with a new task, then a change of the story.
		a := w.must(`{"AssetType":"Story","Name":"A","Scope":"Scope:0"}`)
		n := a.AssetsCreated.OIDTokens[0]
		b := w.must(`{"AssetType":"Task","Name":"T","Parent":"` + n + `"}`)
		c := w.must(`{"from":"` + n + `","update":{"Name":"B"}}`)
		if x, err := w.take(auth.System, `{"requestId":["`+a.RequestID+`","`+b.RequestID+`","`+c.RequestID+`"]}`); err != nil || !x.Undone {
			t.Errorf("new story, new task, renamed story: %v %+v %s", err, x.Conflicts, x.Failures.List)
		}
	})
}

func TestRestoredWithParts(t *testing.T) {
	each(t, func(w *world) {
		// Undelete a story with its task, then rename it, in two writes.
		s := w.story("S", "Scope:0")
		w.must(`{"AssetType":"Task","Name":"T","Parent":"` + s + `"}`)
		w.must(`{"from":"` + s + `","execute":"Delete"}`)
		x, y := w.must(`{"from":"`+s+`","where":{"IsDeleted":true},"execute":"Undelete"}`), w.must(`{"from":"`+s+`","update":{"Name":"B"}}`)
		a, err := w.take(auth.System, `{"requestId":["`+x.RequestID+`","`+y.RequestID+`"]}`)
		if err != nil || !a.Undone {
			t.Errorf("restored and renamed story: %v %+v %s", err, a.Conflicts, a.Failures.List)
		}
		// Undelete a story, then add a task.
		s = w.story("S", "Scope:0")
		w.must(`{"from":"` + s + `","execute":"Delete"}`)
		x, y = w.must(`{"from":"`+s+`","where":{"IsDeleted":true},"execute":"Undelete"}`), w.must(`{"AssetType":"Task","Name":"T","Parent":"`+s+`"}`)
		a, err = w.take(auth.System, `{"requestId":["`+x.RequestID+`","`+y.RequestID+`"]}`)
		if err != nil || !a.Undone {
			t.Errorf("restored story with a new task: %v %+v %s", err, a.Conflicts, a.Failures.List)
		}
	})
}

func TestATreeTurnedAround(t *testing.T) {
	each(t, func(w *world) {
		e := w.one(`{"AssetType":"Epic","Name":"A","Scope":"Scope:0"}`)
		f := w.one(`{"AssetType":"Epic","Name":"B","Scope":"Scope:0","Super":"` + e + `"}`)
		id := w.must(`{"from":"`+f+`","update":{"Super":null}}`, `{"from":"`+e+`","update":{"Super":"`+f+`"}}`, `{"from":"`+f+`","update":{"Name":"x"}}`).RequestID
		w.clean("a tree turned around", id)
	})
}

// A batch that ends between the move of a story and the new task below it.
func TestSeveralBatches(t *testing.T) {
	each(t, func(w *world) {
		p := w.project("P")
		s := w.story("S", "Scope:0")
		id := w.must(
			`{"from":"`+p+`","update":{"Name":"Q"}}`,
			`{"AssetType":"Task","Name":"T","Parent":"`+s+`"}`,
			`{"from":"`+s+`","update":{"Scope":"`+p+`"}}`,
		).RequestID
		w.clean("a new task of a moved story, and a project", id)
	})
}

func TestRelationsToDeleted(t *testing.T) {
	each(t, func(w *world) {
		q := w.project("Q")
		// Moved out of a project that was deleted since.
		s := w.story("S", q)
		id := w.must(`{"from":"` + s + `","update":{"Scope":"Scope:0"}}`).RequestID
		w.must(`{"from":"` + q + `","execute":"Delete"}`)
		ord := w.write(`{"from":"` + s + `","update":{"Scope":"` + q + `"}}`)
		a, err := w.take(auth.System, `{"requestId":"`+id+`"}`)
		if err == nil && a.Undone {
			t.Errorf("moved into a deleted project: ordinary update %s; undo %+v", ord.Failed.Commands, a)
		}

		// A relation to an asset that is deleted now.
		e := w.one(`{"AssetType":"Epic","Name":"A","Scope":"Scope:0"}`)
		s = w.one(`{"AssetType":"Story","Name":"B","Scope":"Scope:0","Super":"` + e + `"}`)
		id = w.must(`{"from":"` + s + `","update":{"Super":null}}`).RequestID
		w.must(`{"from":"` + e + `","execute":"Delete"}`)
		ord = w.write(`{"from":"` + s + `","update":{"Super":"` + e + `"}}`)
		a, err = w.take(auth.System, `{"requestId":"`+id+`"}`)
		if err == nil && a.Undone {
			t.Errorf("related to a deleted epic: ordinary update %s; undo %+v", ord.Failed.Commands, a)
		}

		// A task goes back to a story that is deleted now.
		s1, s2 := w.story("S1", "Scope:0"), w.story("S2", "Scope:0")
		k := w.one(`{"AssetType":"Task","Name":"T","Parent":"` + s1 + `"}`)
		id = w.must(`{"from":"` + k + `","update":{"Parent":"` + s2 + `"}}`).RequestID
		w.must(`{"from":"` + s1 + `","execute":"Delete"}`)
		ord = w.write(`{"from":"` + k + `","update":{"Parent":"` + s1 + `"}}`)
		a, err = w.take(auth.System, `{"requestId":"`+id+`"}`)
		if err == nil && a.Undone {
			t.Errorf("task below a deleted story: ordinary update %s; undo %+v", ord.Failed.Commands, a)
		}
	})
}

// A project that the write created has assets of others now.
func TestANewProjectWithMore(t *testing.T) {
	each(t, func(w *world) {
		id := w.must(`{"AssetType":"Scope","Name":"P","Parent":"Scope:0","BeginDate":"2026-01-01"}`)
		p := id.AssetsCreated.OIDTokens[0]
		w.story("S", p)
		if a, err := w.take(auth.System, `{"requestId":"`+id.RequestID+`"}`); err == nil && a.Undone {
			t.Errorf("a project with a story of others is deleted: %+v", a)
		}
	})
}

func TestRolesAndPasswordsAreNamed(t *testing.T) {
	each(t, func(w *world) {
		w.withLogins()
		p := w.project("P")
		m := w.one(`{"AssetType":"Member","Name":"M","Nickname":"m","DefaultRole":"Role:4"}`)
		w.must(`{"from":"` + p + `","execute":{"op":"AssignMemberWithRole","list":[{"Member":"` + m + `","Role":"Role:4"}]}}`)
		id := w.must(`{"from":"`+p+`","update":{"TaggedWith":{"add":"x"}}}`,
			`{"from":"`+p+`","execute":{"op":"AssignMemberWithRole","list":[{"Member":"`+m+`","Role":"Role:5"}]}}`).RequestID
		a := w.clean("roles", id)
		if len(a.NotUndone) != 1 {
			t.Errorf("a role changed beside a tag: notUndone is %+v", a.NotUndone)
		}
		id = w.must(`{"from":"` + p + `","execute":{"op":"AssignMemberWithRole","list":[{"Member":"` + m + `","Role":"Role:6"}]}}`).RequestID
		a = w.clean("roles", id)
		if len(a.NotUndone) != 1 {
			t.Errorf("a role alone: notUndone is %+v", a.NotUndone)
		}
		id = w.must(`{"from":"` + m + `","update":{"Password":"Geheim-123456"}}`).RequestID
		a = w.clean("password", id)
		if len(a.NotUndone) != 1 || a.NotUndone[0].What != "passwords" {
			t.Errorf("a password: notUndone is %+v", a.NotUndone)
		}
	})
}

func TestARepeatedKey(t *testing.T) {
	each(t, func(w *world) {
		s := w.story("S", "Scope:0")
		w.assets.MaxAssets = 3
		for i := range 11 {
			w.must(fmt.Sprintf(`{"from":%q,"update":{"Name":"S%d"}}`, s, i))
		}
		run := func() (string, error) {
			b, err := w.undo.Run(t.Context(), auth.System, undo.Request{Body: []byte(`{"by":"Member:20","since":"2026-01-01T00:00:00Z","conflicts":"skip"}`), Key: "k"})
			return string(b), err
		}
		first, err := run()
		if err != nil {
			t.Fatal(err)
		}
		again, err := run()
		w.must(`{"from":"` + s + `","update":{"Reference":"S"}}`)
		third, err3 := run()
		if err != nil || err3 != nil || again != first || third != first {
			t.Errorf("the repeated request: %v %v %s", err, err3, third)
		}
	})
}

// logins stores usernames in the credential table.
type logins struct{}

func (logins) Seal(context.Context, string) (string, error)             { return "", nil }
func (logins) HaveLogin(context.Context, *db.Tx, []int64) (bool, error) { return true, nil }
func (logins) Prove(context.Context, int64, string) (bool, error)       { return true, nil }
func (logins) Digest(context.Context, string, string) (string, error) {
	return strings.Repeat("d", 64), nil
}

func (logins) Set(ctx context.Context, tx *db.Tx, member int64, username, _ *string) error {
	if username == nil {
		return nil
	}
	if _, err := tx.Exec(ctx, `DELETE FROM credential WHERE member_id = ?`, member); err != nil || *username == "" {
		return err
	}
	_, err := tx.Exec(ctx, `INSERT INTO credential (member_id, username, folded, version, disabled) VALUES (?, ?, ?, 1, 0)`, member, *username, folding.Of(*username))
	if err != nil {
		return fault.Conflictf(err, "Violation'NotUnique'Member.Username")
	}
	return nil
}

func (w *world) withLogins() {
	w.assets = asset.New(w.d, w.model, logins{}, nil)
	w.bulk, w.undo = bulk.New(w.assets, find.New(w.d, w.model)), undo.New(w.assets)
}

func (w *world) member(name, username string) string {
	return w.one(`{"AssetType":"Member","Name":"` + name + `","Nickname":"` + name + `","DefaultRole":"Role:4","Username":"` + username + `"}`)
}

func idOf(token string) int64 {
	_, id, _ := strings.Cut(token, ":")
	n, _ := strconv.ParseInt(id, 10, 64)
	return n
}

// The version before is removed between the search and the write.
func TestRemovedHistory(t *testing.T) {
	each(t, func(w *world) {
		s := w.story("S", "Scope:0")
		w.must(`{"from":"` + s + `","update":{"Name":"B"}}`)
		moments, err := db.Column[int64](t.Context(), w.d, `SELECT moment FROM asset_version WHERE id = ? ORDER BY moment`, idOf(s))
		if err != nil || len(moments) != 2 {
			t.Fatal(moments, err)
		}
		if _, err := w.d.Exec(t.Context(), `DELETE FROM asset_version WHERE id = ? AND moment = ?`, idOf(s), moments[0]); err != nil {
			t.Fatal(err)
		}
		err = w.assets.Write(t.Context(), auth.System, asset.Request{ID: asset.NewRequestID()}, func(x *asset.Session) error {
			all := []*asset.Command{{Verb: asset.Undo, Target: asset.Ref{OID: oid.OID{Type: "Story", ID: idOf(s)}}, Undone: &asset.Undone{Moments: moments[1:]}}}
			x.Undoes(map[int64]bool{idOf(s): true}, moments[1], nil)
			_, err := x.Run(t.Context(), all)
			return err
		})
		if state := w.column(s, "state"); state == "255" {
			t.Errorf("the story is deleted, because the version before its change is gone: %v", err)
		}
	})
}

// The value of a time in which the caller did not see the asset.
func TestNamesFromElsewhere(t *testing.T) {
	each(t, func(w *world) {
		p, q := w.project("P"), w.project("Q")
		s := w.story("secret", p)
		id := w.must(`{"from":"` + s + `","update":{"Name":"public"}}`).RequestID
		w.must(`{"from":"` + s + `","update":{"Scope":"` + q + `"}}`)
		bob := auth.Actor{Member: idOf(w.member("Bob", "")), Scopes: []int64{idOf(q)}, Roles: []meta.Role{meta.Role(4)}, Held: meta.RolesOf(meta.Role(4))}
		b, err := find.New(w.d, w.model).Rows(t.Context(), w.d, bob, query.Request{From: query.Text{Text: s}, Select: []query.Item{{Text: query.Text{Text: "Name"}}}, AsOf: query.Text{Text: "All"}}, nil)
		t.Logf("history for Bob: %s %v", b, err)
		p2, err := w.undo.Run(t.Context(), bob, undo.Request{Body: []byte(`{"requestId":"` + id + `"}`), Preview: true})
		if strings.Contains(string(p2), "secret") {
			t.Errorf("the preview shows %s %v", p2, err)
		}
	})
}

// The settings of effort tracking refuse an ordinary update.
func TestEffortComesBack(t *testing.T) {
	each(t, func(w *world) {
		s := w.one(`{"AssetType":"Story","Name":"S","Scope":"Scope:0","ToDo":5}`)
		id := w.must(`{"from":"` + s + `","update":{"ToDo":null}}`).RequestID
		w.assets.Tracking = catalog.Tracking{Story: catalog.Off, Defect: catalog.Off}
		if w.clean("a value that no update may set now", id); w.column(s, "todo") != "5" {
			t.Errorf("the to-do is %s", w.column(s, "todo"))
		}
	})
}

func (w *world) actor(role meta.Role, tokens ...string) auth.Actor {
	who := auth.Actor{Member: idOf(w.member("Bob", "")), Held: meta.RolesOf(role)}
	for _, token := range tokens {
		who.Scopes, who.Roles = append(who.Scopes, idOf(token)), append(who.Roles, role)
	}
	return who
}

func (w *world) preview(who auth.Actor, id string) string {
	w.t.Helper()
	b, err := w.undo.Run(w.t.Context(), who, undo.Request{Body: []byte(`{"requestId":"` + id + `"}`), Preview: true})
	return fmt.Sprintf("%s %v", b, err)
}

// An asset in a deleted project is hidden from everybody.
func TestInADeletedProject(t *testing.T) {
	each(t, func(w *world) {
		p := w.project("P")
		s := w.story("S", p)
		id := w.must(`{"from":"` + s + `","update":{"Name":"B"}}`).RequestID
		w.must(`{"from":"` + p + `","execute":"Delete"}`)
		bob := w.actor(4, p)
		rows, err := find.New(w.d, w.model).Rows(t.Context(), w.d, bob, query.Request{From: query.Text{Text: s}, Select: []query.Item{{Text: query.Text{Text: "Name"}}}}, nil)
		ord := w.write(`{"from":"` + s + `","update":{"Name":"C"}}`)
		if got := w.preview(bob, id); strings.Contains(got, s) {
			t.Errorf("a query answers %s %v, an ordinary update leaves %s (%s), and a preview says %s", rows, err, w.column(s, "name"), ord.Failed.Commands, got)
		}
		a, err := w.take(bob, `{"requestId":"`+id+`"}`)
		if w.column(s, "name") != "B" {
			t.Errorf("changed: %v %+v", err, a)
		}
	})
}

// A note that was personal when its text was written.
func TestAPersonalNote(t *testing.T) {
	each(t, func(w *world) {
		p := w.project("P")
		s := w.story("S", p)
		n := w.one(`{"AssetType":"Note","Name":"N","Content":"secret","Personal":true,"Asset":"` + s + `"}`)
		id := w.must(`{"from":"` + n + `","update":{"Content":"harmless"}}`).RequestID
		w.must(`{"from":"` + n + `","update":{"Personal":false}}`)
		bob := w.actor(meta.ProjectAdmin, p)
		rows, err := find.New(w.d, w.model).Rows(t.Context(), w.d, bob, query.Request{From: query.Text{Text: n}, Select: []query.Item{{Text: query.Text{Text: "Content"}}}, AsOf: query.Text{Text: "All"}}, nil)
		if got := w.preview(bob, id); strings.Contains(got, "secret") {
			t.Errorf("history: %s %v, preview: %s", rows, err, got)
		}
	})
}

// An undo that changes nothing leaves an event in the audit.
func TestOnlyChangesAreRecorded(t *testing.T) {
	each(t, func(w *world) {
		p := w.project("P")
		s := w.story("S", p)
		id := w.must(`{"from":"` + s + `","update":{"Name":"B"}}`).RequestID
		bob := w.actor(8, p)
		a, err := w.take(bob, `{"requestId":"`+id+`","conflicts":"skip"}`)
		n, err2 := db.Column[int64](t.Context(), w.d, `SELECT COUNT(*) FROM audit_trail WHERE kind = 'Undone'`)
		if err2 != nil || len(n) == 0 || n[0] != 0 || a.AssetsModified.Count > 0 {
			t.Errorf("an Observer has changed nothing: %v %+v %s; events: %v %v", err, a, a.Failures.List, n, err2)
		}
	})
}

// An asset that others have deleted since; an ordinary update does not change it.
func TestDeletedSince(t *testing.T) {
	each(t, func(w *world) {
		s := w.story("S", "Scope:0")
		id := w.must(`{"from":"` + s + `","update":{"Name":"B"}}`).RequestID
		w.must(`{"from":"` + s + `","execute":"Delete"}`)
		w.write(`{"from":"` + s + `","update":{"Name":"C"}}`)
		ordinary := w.column(s, "name")
		a, err := w.take(auth.System, `{"requestId":"`+id+`"}`)
		if w.column(s, "name") != ordinary {
			t.Errorf("ordinary: %s; undo: %s %v %+v", ordinary, w.column(s, "name"), err, a)
		}
	})
}

// A relation that has changed since to an asset that the caller does not see.
func TestARelationToUnseen(t *testing.T) {
	each(t, func(w *world) {
		p, q := w.project("P"), w.project("Q")
		s := w.story("S", p)
		e := w.one(`{"AssetType":"Epic","Name":"A","Scope":"` + p + `"}`)
		f := w.one(`{"AssetType":"Epic","Name":"B","Scope":"` + q + `"}`)
		id := w.must(`{"from":"` + s + `","update":{"Super":"` + e + `"}}`).RequestID
		w.must(`{"from":"` + s + `","update":{"Super":"` + f + `"}}`)
		a, err := w.take(w.actor(4, p), `{"requestId":"`+id+`"}`)
		if err != nil || a.Conflicts.Hidden != 1 || len(a.Conflicts.List) > 0 {
			t.Errorf("%v %+v", err, a.Conflicts)
		}
	})
}

// A story became an epic, and others have put a story below the epic since. EpicToStory refuses that.
func TestANewEpicWithMore(t *testing.T) {
	each(t, func(w *world) {
		s := w.story("S", "Scope:0")
		id := w.must(`{"from":"` + s + `","execute":"Breakdown"}`).RequestID
		var epic string
		w.each(`SELECT MAX(id) FROM asset`, 1, func(c []any) { epic = fmt.Sprintf("Epic:%v", c[0]) })
		sub := w.one(`{"AssetType":"Story","Name":"B","Scope":"Scope:0","Super":"` + epic + `"}`)
		ordinary := w.write(`{"from":"` + s + `","execute":"EpicToStory"}`)
		a, err := w.take(auth.System, `{"requestId":"`+id+`"}`)
		if w.column(epic, "state") == "255" {
			t.Errorf("EpicToStory: %s; undo: %v %+v; Super of %s is %s", ordinary.Failed.Commands, err, a, sub, w.column(sub, "super_id"))
		}
	})
}

// An asset below a new epic that the caller does not see is a conflict by number. If there is also one that the caller
// sees, the conflict is the same as without the hidden one.
func TestUnseenBelowANewAsset(t *testing.T) {
	each(t, func(w *world) {
		p, q := w.project("P"), w.project("Q")
		a := w.must(`{"AssetType":"Epic","Name":"E","Scope":"` + p + `"}`)
		w.must(`{"AssetType":"Story","Name":"S","Scope":"` + q + `","Super":"` + a.AssetsCreated.OIDTokens[0] + `"}`)
		got, err := w.take(w.actor(4, p), `{"requestId":"`+a.RequestID+`"}`)
		if err != nil || got.Undone || len(got.Conflicts.List) != 0 || got.Conflicts.Hidden != 1 {
			t.Errorf("%v %+v", err, got)
		}
		w.must(`{"AssetType":"Story","Name":"T","Scope":"` + p + `","Super":"` + a.AssetsCreated.OIDTokens[0] + `"}`)
		got, err = w.take(w.actor(4, p), `{"requestId":"`+a.RequestID+`"}`)
		if err != nil || got.Undone || len(got.Conflicts.List) != 1 || got.Conflicts.Hidden != 0 || got.Conflicts.List[0].ChangeDate == "" {
			t.Errorf("%v %+v", err, got)
		}
	})
}

// TestOwnChanges takes back changes of assets that not only their project decides who sees: the caller's own,
// but not those of others.
func TestOwnChanges(t *testing.T) {
	each(t, func(w *world) {
		p := w.project("P")
		bob := w.actor(meta.Role(4), p)
		self := fmt.Sprintf("Member:%d", bob.Member)
		for _, c := range []struct {
			asset, attr string
			others      bool // others' changes are taken back, too
		}{
			{w.one(`{"AssetType":"Expression","Content":"a","Author":"` + self + `"}`), "Content", false},
			{self, "Phone", false},
			{w.one(`{"AssetType":"Link","Name":"L","URL":"http://a","Asset":"` + w.story("S", p) + `"}`), "URL", true},
		} {
			for _, who := range []auth.Actor{auth.System, bob} {
				var wrote written
				for _, to := range []string{"b", "c"} {
					command := `{"from":"` + c.asset + `","update":{"` + c.attr + `":"` + to + `"}}`
					b, err := w.bulk.Run(t.Context(), who, bulk.Request{Body: []byte(command)})
					if err != nil {
						t.Fatal(err)
					}
					w.read(b, &wrote)
					if len(wrote.Failed.Commands) > 0 {
						t.Fatalf("%s: %s", c.asset, wrote.Failed.Commands)
					}
				}
				a, err := w.take(bob, `{"requestId":"`+wrote.RequestID+`"}`)
				if undone := c.others || who.Member == bob.Member; err != nil || a.Undone != undone || !undone && a.Conflicts.Hidden != 1 {
					t.Errorf("%s of %d: %v %+v", c.asset, who.Member, err, a)
				}
			}
		}
	})
}
