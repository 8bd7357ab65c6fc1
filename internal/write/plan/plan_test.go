package plan_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testseed"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/bulk"
	"github.com/alds-dev/alds/internal/write/plan"
	"github.com/alds-dev/alds/internal/write/seed"
	"github.com/alds-dev/alds/internal/write/undo"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// world is a new database with the engines that write it.
type world struct {
	t    testing.TB
	d    *db.DB
	bulk *bulk.Engine
	plan *plan.Engine
	made map[string]string // Oids by the names of assets
}

func each(t *testing.T, test func(w *world)) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := &world{t: t, d: d, made: map[string]string{}}
		m := meta.Default()
		if err := seed.Run(t.Context(), d, m); err != nil {
			t.Fatal(err)
		}
		assets := asset.New(d, m, nil, nil)
		w.bulk = bulk.New(assets, find.New(d, m))
		w.plan = plan.New(assets, w.bulk, undo.New(assets))
		test(w)
	})
}

// make creates an asset. Later texts name it by <name>.
func (w *world) make(name, typ, values string) {
	w.t.Helper()
	var a struct{ AssetsCreated struct{ OIDTokens []string } }
	w.read(w.run(auth.System, `{"AssetType":"`+typ+`","Name":"`+name+`",`+values+`}`), &a)
	w.made[name] = a.AssetsCreated.OIDTokens[0]
}

// named replaces the names of assets by their Oids.
func (w *world) named(text string) string {
	for name, token := range w.made {
		text = strings.ReplaceAll(text, "<"+name+">", token)
	}
	return text
}

// run executes commands and returns the answer. They must succeed.
func (w *world) run(who auth.Actor, commands string) []byte {
	w.t.Helper()
	b, err := w.bulk.Run(w.t.Context(), who, bulk.Request{Body: []byte(w.named(commands))})
	if err != nil || !bytes.Contains(b, []byte(`"commandFailures":{"commands":[],`)) {
		w.t.Fatalf("%s: %s %v", commands, b, err)
	}
	return b
}

func (w *world) read(b []byte, into any) {
	w.t.Helper()
	if err := json.Unmarshal(b, into); err != nil {
		w.t.Fatalf("%v: %s", err, b)
	}
}

// planned is the answer to a request for a plan.
type planned struct {
	Plan, Summary string
	Effect        []json.RawMessage
	Refused       []struct{ Error struct{ Message string } }
	NotUndone     []struct{ Asset, What string }
	Size          struct{ Assets, Hidden, Refused int }
}

func (p planned) lines() (all []string) {
	for _, line := range p.Effect {
		all = append(all, string(line))
	}
	return all
}

func (w *world) propose(who auth.Actor, r bulk.Request) (p planned) {
	w.t.Helper()
	before := w.rows()
	b, err := w.plan.Make(w.t.Context(), who, r)
	if err != nil {
		w.t.Fatalf("%s: %v", r.Body, err)
	}
	w.read(b, &p)
	if diff := cmp.Diff(before, w.rows()); diff != "" {
		w.t.Fatalf("a plan of %s changes:\n%s", r.Body, diff)
	}
	return p
}

func (w *world) commands(text string) bulk.Request { return bulk.Request{Body: []byte(w.named(text))} }

// rows returns what is stored about all assets, without what every change sets.
func (w *world) rows() (all []string) {
	w.t.Helper()
	for _, query := range []string{
		`SELECT id, moment FROM asset ORDER BY id`,
		`SELECT from_id, to_id FROM asset_link ORDER BY from_id, to_id, relation, since_moment`,
		`SELECT id, moment FROM asset_version ORDER BY id, moment`,
	} {
		err := db.Each(w.t.Context(), w.d, query, nil, func(scan db.Scanner) error {
			var a, b int64
			err := scan.Scan(&a, &b)
			all = append(all, fmt.Sprint(a, " ", b))
			return err
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	return all
}

// TestEffects shows the effects of requests.
func TestEffects(t *testing.T) {
	each(t, func(w *world) {
		w.make("shop", "Scope", `"Parent":"Scope:0","BeginDate":"2026-01-01"`)
		w.make("ann", "Member", `"Nickname":"ann","DefaultRole":"Role:4"`)
		w.make("bo", "Member", `"Nickname":"bo","DefaultRole":"Role:4"`)
		w.make("epic", "Epic", `"Scope":"<shop>"`)
		for _, name := range []string{"a", "b", "c"} {
			w.make(name, "Story", `"Scope":"<shop>","Estimate":3,"Owners":["<ann>"],"Reference":"R"`)
		}
		w.make("task", "Task", `"Parent":"<a>"`)
		for _, c := range []struct{ why, commands, effect, summary string }{
			{
				"values", `{"from":"<a>","update":{"Name":"A","Estimate":5,"Reference":null}}`,
				`{"asset":"<a>","attribute":"Estimate","old":"3","new":"5"}
				 {"asset":"<a>","attribute":"Name","old":"a","new":"A"}
				 {"asset":"<a>","attribute":"Reference","old":"R","new":null}`, "1 changed (1 Story)",
			},
			{
				"relations", `{"from":"<a>","update":{"Super":"<epic>","Owners":{"add":["<bo>"],"remove":["<ann>"]},"TaggedWith":["x","y"]}}`,
				`{"asset":"<a>","attribute":"Owners","added":["<bo>"],"removed":["<ann>"]}
				 {"asset":"<a>","attribute":"Super","old":null,"new":"<epic>"}
				 {"asset":"<a>","attribute":"TaggedWith","added":["x","y"],"removed":[]}`, "1 changed (1 Story)",
			},
			{
				"what is changed twice", `[{"from":"<a>","update":{"Name":"A"}},{"from":"<b>","update":{"Name":"B"}},{"from":"<a>","update":{"Name":"AA"}},{"from":"<b>","update":{"Name":"b"}}]`,
				`{"asset":"<a>","attribute":"Name","old":"a","new":"AA"}`, "1 changed (1 Story)",
			},
			{
				"new assets", `[{"AssetType":"Task","Name":"t","Parent":{"AssetType":"Defect","Name":"d","Scope":"<shop>"}}]`,
				`{"asset":"Defect:+1","created":true}
				 {"asset":"Defect:+1","attribute":"Name","old":null,"new":"d"}
				 {"asset":"Defect:+1","attribute":"Scope","old":null,"new":"<shop>"}
				 {"asset":"Task:+2","created":true}
				 {"asset":"Task:+2","attribute":"Name","old":null,"new":"t"}
				 {"asset":"Task:+2","attribute":"Parent","old":null,"new":"Defect:+1"}`, "2 created (1 Defect, 1 Task)",
			},
			{
				"what is deleted with its parts", `{"from":"<a>","execute":"Delete"}`,
				`{"asset":"<a>","attribute":"AssetState","old":"Active","new":"Deleted"}
				 {"asset":"<task>","attribute":"AssetState","old":"Active","new":"Deleted"}`, "2 deleted (1 Story, 1 Task)",
			},
			{
				"a rank", `{"from":"<c>","update":{"Order":{"Before":"<b>"}}}`,
				`{"asset":"<c>","attribute":"Order","next":"<b>"}`, "1 changed (1 Story)",
			},
			{
				"a command that waits for the one before",
				`[{"@new":{"AssetType":"Epic","Name":"new","Scope":"<shop>"}},{"from":"@new","update":{"Reference":"R"}},{"from":"<a>","update":{"Super":"@new"}}]`,
				`{"asset":"<a>","attribute":"Super","old":null,"new":"Epic:+1"}
				 {"asset":"Epic:+1","created":true}
				 {"asset":"Epic:+1","attribute":"Name","old":null,"new":"new"}
				 {"asset":"Epic:+1","attribute":"Scope","old":null,"new":"<shop>"}`, "1 created (1 Epic), 1 changed (1 Story)",
			},
			{
				"refused commands", `[{"from":"<a>","update":{"Name":""}},{"from":"<b>","update":{"Name":"B"}}]`,
				`{"asset":"<b>","attribute":"Name","old":"b","new":"B"}`, "1 changed (1 Story), 1 refused",
			},
			{
				"an atomic request that fails", `[{"config":"atomic"},{"from":"<a>","update":{"Name":""}},{"from":"<b>","update":{"Name":"B"}}]`,
				``, "1 refused",
			},
		} {
			p := w.propose(auth.System, w.commands(c.commands))
			var want []string
			for line := range strings.SplitSeq(w.named(c.effect), "\n") {
				if line = strings.TrimSpace(line); line != "" {
					want = append(want, line)
				}
			}
			got := slices.DeleteFunc(p.lines(), isDefault)
			if diff := cmp.Diff(want, got); diff != "" || p.Summary != c.summary || (p.Plan == "") != (len(want) == 0) {
				t.Errorf("%s: %q (-want +got):\n%s", c.why, p.Summary, diff)
			}
		}
	})
}

// isDefault reports whether a change gives a new asset a value that the commands do not name.
func isDefault(line string) bool {
	asset, _, _ := strings.Cut(line, ",")
	if !strings.Contains(asset, `:+`) || strings.Contains(line, `"created"`) {
		return false
	}
	return !slices.ContainsFunc([]string{`"Name"`, `"Scope"`, `"Parent"`}, func(name string) bool { return strings.Contains(line, `"attribute":`+name) })
}

// apply carries a plan out, and returns what differs, or nil if nothing does.
func (w *world) apply(who auth.Actor, id string) (answer []byte, differs []string) {
	w.t.Helper()
	before := w.rows()
	answer, err := w.plan.Apply(w.t.Context(), who, id)
	var other *plan.DifferError
	if !errors.As(err, &other) {
		if err != nil {
			w.t.Fatal(err)
		}
		return answer, nil
	}
	if diff := cmp.Diff(before, w.rows()); diff != "" {
		w.t.Fatalf("a refused plan changes:\n%s", diff)
	}
	var a struct {
		Applied     *bool
		Differences struct {
			List  []map[string]json.RawMessage
			Count int
		}
	}
	w.read(other.Body, &a)
	if a.Applied == nil || *a.Applied || a.Differences.Count < len(a.Differences.List) {
		w.t.Fatalf("%s", other.Body)
	}
	differs = []string{}
	for _, d := range a.Differences.List {
		for as, line := range d {
			differs = append(differs, as+" "+string(line))
		}
	}
	return nil, differs
}

// TestApply carries plans out after other writes.
func TestApply(t *testing.T) {
	each(t, func(w *world) {
		w.make("shop", "Scope", `"Parent":"Scope:0","BeginDate":"2026-01-01"`)
		w.make("a", "Story", `"Scope":"<shop>","Estimate":3`)
		w.make("b", "Story", `"Scope":"<shop>","Estimate":3`)
		const command = `{"from":"Story","filter":["Estimate='3'"],"update":{"Reference":"R"}}`
		for _, c := range []struct{ why, between, differs string }{
			{"nothing", "", ""},
			{"another attribute", `{"from":"<a>","update":{"Name":"A"}}`, ""},
			{"the same value", `{"from":"<a>","update":{"Reference":"R"}}`, `planned {"asset":"<a>","attribute":"Reference","old":null,"new":"R"}`},
			{"an asset that the filter finds no more", `{"from":"<b>","update":{"Estimate":1}}`, `planned {"asset":"<b>","attribute":"Reference","old":null,"new":"R"}`},
			{"another value before", `{"from":"<a>","update":{"Reference":"Q"}}`, `planned {"asset":"<a>","attribute":"Reference","old":null,"new":"R"}
				now {"asset":"<a>","attribute":"Reference","old":"Q","new":"R"}`},
		} {
			w.run(auth.System, `{"from":"Story","update":{"Reference":null,"Estimate":3}}`)
			p := w.propose(auth.System, w.commands(command))
			if len(p.Effect) != 2 {
				t.Fatalf("%s: %s", c.why, p.Effect)
			}
			if c.between != "" {
				w.run(auth.System, c.between)
			}
			answer, differs := w.apply(auth.System, p.Plan)
			var want []string
			for line := range strings.SplitSeq(w.named(c.differs), "\n") {
				if line = strings.TrimSpace(line); line != "" {
					want = append(want, line)
				}
			}
			if diff := cmp.Diff(want, differs); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.why, diff)
			}
			if want != nil {
				continue
			}
			if !bytes.Contains(answer, []byte(`"assetsModified":{"oidTokens":["`+w.made["a"])) {
				t.Errorf("%s: %s", c.why, answer)
			}
			rows := w.rows()
			again, _ := w.apply(auth.System, p.Plan)
			if diff := cmp.Diff(rows, w.rows()); diff != "" || !bytes.Equal(answer, again) {
				t.Errorf("%s: the repetition answers %s\nafter %s\n%s", c.why, again, answer, diff)
			}
		}
	})
}

// TestWhoMayApply refuses plans of others, unknown ones, and those that have expired.
func TestWhoMayApply(t *testing.T) {
	each(t, func(w *world) {
		w.make("a", "Story", `"Scope":"Scope:0"`)
		withToken := auth.System
		withToken.Token = "01980000-0000-7000-8000-000000000001"
		other := auth.System
		other.Member = 21
		p := w.propose(withToken, w.commands(`{"from":"<a>","update":{"Name":"A"}}`))
		expired := w.propose(withToken, w.commands(`{"from":"<a>","update":{"Name":"B"}}`))
		if _, err := w.d.Exec(t.Context(), `UPDATE bulk_request SET expires_at = 1 WHERE id = ?`, expired.Plan); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			who auth.Actor
			id  string
		}{
			{auth.System, p.Plan},
			{other, p.Plan},
			{withToken, expired.Plan},
			{withToken, "x"},
			{withToken, ""},
			{withToken, "01980000-0000-7000-8000-000000000001"},
		} {
			if b, err := w.plan.Apply(t.Context(), c.who, c.id); fault.KindOf(err) != fault.NotFound {
				t.Errorf("%d %q %s: %s %v", c.who.Member, c.who.Token, c.id, b, err)
			}
		}
		if _, differs := w.apply(withToken, p.Plan); differs != nil {
			t.Errorf("%s", differs)
		}
	})
}

// TestRandomPlans makes plans of random commands, lets others write at random, and carries the plans out. Each
// is carried out exactly if a plan of the same commands would now show the same.
func TestRandomPlans(t *testing.T) {
	seed := testseed.New(t)
	rounds := 150
	if !testing.Short() {
		rounds = 1000
	}
	each(t, func(w *world) {
		r := rand.New(rand.NewPCG(seed, 1))
		w.make("shop", "Scope", `"Parent":"Scope:0","BeginDate":"2026-01-01"`)
		w.make("epic", "Epic", `"Scope":"<shop>"`)
		for i := range 4 {
			w.make("s"+strconv.Itoa(i), "Story", `"Scope":"<shop>","Estimate":`+strconv.Itoa(i%3))
		}
		stories := slices.Sorted(maps.Keys(w.made))
		stories = slices.DeleteFunc(stories, func(name string) bool { return name[0] != 's' || len(name) != 2 })
		command := func() string {
			story := "<" + stories[r.IntN(len(stories))] + ">"
			switch r.IntN(9) {
			case 0:
				return fmt.Sprintf(`{"AssetType":"Story","Name":"n","Scope":"<shop>","Estimate":%d}`, r.IntN(3))
			case 1:
				return fmt.Sprintf(`{"from":"Story","filter":["Estimate='%d'"],"update":{"Reference":"r%d"}}`, r.IntN(3), r.IntN(3))
			case 2:
				return fmt.Sprintf(`{"from":%q,"update":{"Super":"<epic>"}}`, story)
			case 3:
				return fmt.Sprintf(`{"from":%q,"update":{"Super":null}}`, story)
			case 4:
				return fmt.Sprintf(`{"from":%q,"update":{"TaggedWith":{"%s":["t%d"]}}}`, story, []string{"add", "remove"}[r.IntN(2)], r.IntN(2))
			case 5:
				return fmt.Sprintf(`{"from":%q,"update":{"Order":{"Before":"<%s>"}}}`, story, stories[r.IntN(len(stories))])
			case 6:
				return fmt.Sprintf(`{"from":%q,"where":{"AssetState":"Active"},"execute":"Inactivate"}`, story)
			case 7:
				return fmt.Sprintf(`{"from":%q,"where":{"AssetState":"Closed"},"execute":"Reactivate"}`, story)
			}
			return fmt.Sprintf(`{"from":%q,"update":{"Estimate":%d}}`, story, r.IntN(3))
		}
		some := func() string {
			var all []string
			for range 1 + r.IntN(3) {
				all = append(all, command())
			}
			return "[" + strings.Join(all, ",") + "]"
		}
		applied, refused := 0, 0
		for range rounds {
			text := some()
			p := w.propose(auth.System, w.commands(text))
			if p.Plan == "" {
				continue
			}
			between := ""
			if r.IntN(4) > 0 {
				between = some()
				if _, err := w.bulk.Run(t.Context(), auth.System, w.commands(between)); err != nil {
					t.Fatal(err)
				}
			}
			same := cmp.Equal(p.lines(), w.propose(auth.System, w.commands(text)).lines())
			_, differs := w.apply(auth.System, p.Plan)
			if (differs == nil) != same {
				t.Fatalf("the same effect: %v\n%s\nbetween: %s\n%s", same, text, between, differs)
			}
			if differs == nil {
				applied++
			} else {
				refused++
			}
		}
		if applied == 0 || refused == 0 {
			t.Errorf("%d applied, %d refused", applied, refused)
		}
	})
}

// TestAPlannedUndo makes a plan of an undo and carries it out.
func TestAPlannedUndo(t *testing.T) {
	each(t, func(w *world) {
		w.make("a", "Story", `"Scope":"Scope:0"`)
		var wrote struct{ RequestID string }
		w.read(w.run(auth.System, `{"from":"<a>","update":{"Name":"A"}}`), &wrote)
		r := bulk.Request{Undo: true, Body: []byte(`{"requestId":"` + wrote.RequestID + `"}`)}
		p := w.propose(auth.System, r)
		if diff := cmp.Diff([]string{w.named(`{"asset":"<a>","attribute":"Name","old":"A","new":"a"}`)}, p.lines()); diff != "" {
			t.Fatal(diff)
		}
		answer, differs := w.apply(auth.System, p.Plan)
		if differs != nil || !bytes.HasPrefix(answer, []byte(`{"undone":true`)) {
			t.Fatalf("%s %s", answer, differs)
		}
		w.run(auth.System, `{"from":"<a>","update":{"Name":"B"}}`)
		if p = w.propose(auth.System, r); p.Plan != "" {
			t.Errorf("a plan of an undo with conflicts: %+v", p)
		}
	})
}

// TestPlansAreFew keeps the newest plans of a member only.
func TestPlansAreFew(t *testing.T) {
	each(t, func(w *world) {
		w.make("a", "Story", `"Scope":"Scope:0"`)
		for i := range 104 {
			w.propose(auth.System, w.commands(`{"from":"<a>","update":{"Name":"A`+strconv.Itoa(i)+`"}}`))
		}
		var n int
		if err := w.d.QueryRow(t.Context(), `SELECT COUNT(*) FROM bulk_request`).Scan(&n); err != nil || n != 100 {
			t.Errorf("%d plans %v", n, err)
		}
	})
}

// TestNoSecrets refuses plans with passwords.
func TestNoSecrets(t *testing.T) {
	each(t, func(w *world) {
		_, err := w.plan.Make(t.Context(), auth.System, bulk.Request{Body: []byte(`{"from":"Member:20","update":{"Password":"hush"}}`)})
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "passwords") {
			t.Errorf("%v", err)
		}
	})
}

// TestAPlanIsBounded refuses an effect that is too large, or that needs more memory than there is.
func TestAPlanIsBounded(t *testing.T) {
	each(t, func(w *world) {
		w.make("a", "Story", `"Scope":"Scope:0"`)
		r := w.commands(`{"from":"<a>","update":{"Description":"` + strings.Repeat("x", 2000) + `"}}`)
		hold := memory.NewBudget(8000).Hold(1)
		defer hold.Release()
		if b, err := w.plan.Make(memory.With(t.Context(), hold), auth.System, r); fault.KindOf(err) != fault.Invalid {
			t.Errorf("memory: %s %v", b, err)
		}
		w.plan.MaxShown = 1000
		if b, err := w.plan.Make(t.Context(), auth.System, r); fault.KindOf(err) != fault.Invalid {
			t.Errorf("size: %s %v", b, err)
		}
	})
}

// TestHiddenEffects shows nothing of assets that the caller may not see.
func TestHiddenEffects(t *testing.T) {
	each(t, func(w *world) {
		w.make("open", "Scope", `"Parent":"Scope:0","BeginDate":"2026-01-01"`)
		w.make("closed", "Scope", `"Parent":"Scope:0","BeginDate":"2026-01-01"`)
		w.make("secret", "Epic", `"Scope":"<closed>"`)
		w.make("a", "Story", `"Scope":"<open>","Super":"<secret>"`)
		w.make("epic", "Epic", `"Scope":"<open>"`)
		_, id, _ := strings.Cut(w.made["open"], ":")
		open, _ := strconv.ParseInt(id, 10, 64)
		bob := auth.Actor{Member: 1_000_000, Scopes: []int64{open}, Roles: []meta.Role{meta.ProjectAdmin}, Held: meta.RolesOf(meta.ProjectAdmin)}
		for _, c := range []struct {
			commands, effect string
			hidden           int
		}{
			{`{"from":"<a>","update":{"Super":"<epic>"}}`, `{"asset":"<a>","attribute":"Super","old":null,"new":"<epic>"}`, 1},
			{`{"from":"<a>","update":{"Owners":["Member:20"]}}`, `{"asset":"<a>","attribute":"Owners","added":["Member:20"],"removed":[]}`, 0},
		} {
			p := w.propose(bob, w.commands(c.commands))
			var want []string
			if c.effect != "" {
				want = []string{w.named(c.effect)}
			}
			if diff := cmp.Diff(want, p.lines()); diff != "" || p.Size.Hidden != c.hidden || p.Plan == "" {
				t.Errorf("%s: %d hidden, refused %+v (-want +got):\n%s", c.commands, p.Size.Hidden, p.Refused, diff)
			}
		}
	})
}

// TestExpect calls the function that counts subscriptions in the transaction in which the changes are written.
func TestExpect(t *testing.T) {
	each(t, func(w *world) {
		w.make("a", "Story", `"Scope":"Scope:0"`)
		w.plan.Expect = func(context.Context) (func(ctx context.Context, tx *db.Tx, write, member, first, last int64) (int, error), error) {
			return func(ctx context.Context, tx *db.Tx, write, _, first, last int64) (n int, err error) {
				query := `SELECT COUNT(*) FROM asset_version WHERE audit_id = ? AND moment BETWEEN ? AND ?`
				return n, tx.QueryRow(ctx, query, write, first, last).Scan(&n)
			}, nil
		}
		b, err := w.plan.Make(t.Context(), auth.System, w.commands(`[{"from":"<a>","update":{"Name":"A"}},{"AssetType":"Story","Name":"b","Scope":"Scope:0"}]`))
		if err != nil || !bytes.HasSuffix(b, []byte(`,"subscriptions":2}`)) {
			t.Errorf("%s %v", b, err)
		}
	})
}
