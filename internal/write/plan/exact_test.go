package plan_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/bulk"
	"github.com/alds-dev/alds/internal/write/plan"
	"github.com/alds-dev/alds/internal/write/undo"
)

func give(role string) string {
	return `{"from":"<shop>","execute":{"op":"AssignMemberWithRole","args":{"Member":"<ann>","Role":"` + role + `"}}}`
}

// TestEffectsOfMore shows effects that are easily forgotten. The attributes of effects are compared.
func TestEffectsOfMore(t *testing.T) {
	each(t, func(w *world) {
		w.make("shop", "Scope", `"Parent":"Scope:0","BeginDate":"2026-01-01"`)
		w.make("ann", "Member", `"Nickname":"ann","DefaultRole":"Role:4","Username":"ann"`)
		for _, name := range []string{"a", "b", "c"} {
			w.make(name, "Story", `"Scope":"<shop>"`)
		}
		w.run(auth.System, give("Role:4"))
		for _, c := range []struct{ why, commands, line string }{
			{"a new asset that is closed", `[{"@x":{"AssetType":"Story","Name":"n","Scope":"<shop>"}},{"from":"@x","execute":"Inactivate"}]`, `{"asset":"Story:+1","attribute":"AssetState","old":"Active","new":"Closed"}`},
			{"a new asset that is deleted", `[{"@x":{"AssetType":"Story","Name":"n","Scope":"<shop>"}},{"from":"@x","execute":"Delete"}]`, `{"asset":"Story:+1","attribute":"AssetState","old":"Active","new":"Deleted"}`},
			{"the rank of a new asset", `{"AssetType":"Story","Name":"n","Scope":"<shop>","Order":{"Before":"<b>"}}`, `{"asset":"Story:+1","attribute":"Order","next":"<b>"}`},
			{"a role", give("Role:5"), `{"asset":"<shop>","attribute":"Roles","added":["<ann> Role:5"],"removed":["<ann> Role:4"]}`},
			{"no role any more", `{"from":"<shop>","update":{"Members":{"remove":["<ann>"]}}}`, `{"asset":"<shop>","attribute":"Roles","added":[],"removed":["<ann> Role:4"]}`},
			{"a username", `{"from":"<ann>","update":{"Username":"ann2"}}`, `{"asset":"<ann>","attribute":"Username","old":"ann","new":"ann2"}`},
			{"what is in a project that is deleted", `[{"from":"<a>","update":{"Name":"A"}},{"from":"<shop>","execute":"Delete"}]`, `{"asset":"<a>","attribute":"Name","old":"a","new":"A"}`},
		} {
			p := w.propose(auth.System, w.commands(c.commands))
			if all := strings.Join(p.lines(), "\n"); !strings.Contains(all, w.named(c.line)) || p.Size.Hidden != 0 {
				t.Errorf("%s: %d hidden, no line %s in\n%s", c.why, p.Size.Hidden, w.named(c.line), all)
			}
			if again := w.propose(auth.System, w.commands(c.commands)); !cmp.Equal(p.lines(), again.lines()) {
				t.Errorf("%s: another effect:\n%s", c.why, cmp.Diff(p.lines(), again.lines()))
			}
		}
		for why, commands := range map[string]string{
			"a role as before": "[" + give("Role:5") + "," + give("Role:4") + "]",
			"a rank as before": `[{"from":"<a>","update":{"Order":{"Before":"<b>"}}}]`,
			"a name as before": `[{"from":"<a>","update":{"Name":"x"}},{"from":"<a>","update":{"Name":"a"}}]`,
		} {
			if p := w.propose(auth.System, w.commands(commands)); len(p.lines()) != 0 || p.Plan != "" {
				t.Errorf("%s: %q", why, p.lines())
			}
		}
		if _, err := w.plan.Make(t.Context(), auth.System, w.commands(`{"from":"Member:20","update":{"IsLoginDisabled":true}}`)); fault.KindOf(err) != fault.Denied {
			t.Errorf("no administrator any more: %v", err)
		}
		p := w.propose(auth.System, w.commands(give("Role:5")))
		w.run(auth.System, give("Role:8"))
		if _, differs := w.apply(auth.System, p.Plan); len(differs) != 2 {
			t.Errorf("another role before: %q", differs)
		}
	})
}

// TestOnlyTheMovedAsset shows one move, also if other assets get other ranks to make room.
func TestOnlyTheMovedAsset(t *testing.T) {
	each(t, func(w *world) {
		for _, name := range []string{"a", "b", "c"} {
			w.make(name, "Story", `"Scope":"Scope:0"`)
		}
		for range 12 {
			w.make("x", "Story", `"Scope":"Scope:0"`)
			p := w.propose(auth.System, w.commands(`{"from":"<x>","update":{"Order":{"Before":"<b>"}}}`))
			if diff := cmp.Diff([]string{w.named(`{"asset":"<x>","attribute":"Order","next":"<b>"}`)}, p.lines()); diff != "" {
				t.Fatal(diff)
			}
			if _, differs := w.apply(auth.System, p.Plan); differs != nil {
				t.Fatal(differs)
			}
		}
	})
}

// TestTwoAtOnce carries each plan out twice at the same time. Both requests get the same answer.
func TestTwoAtOnce(t *testing.T) {
	each(t, func(w *world) {
		w.make("a", "Story", `"Scope":"Scope:0"`)
		for i := range 10 {
			p := w.propose(auth.System, w.commands(fmt.Sprintf(`{"from":"<a>","update":{"Name":"race %d"}}`, i)))
			var both sync.WaitGroup
			var answers [2]string
			for n := range answers {
				both.Go(func() {
					b, err := w.plan.Apply(t.Context(), auth.System, p.Plan)
					answers[n] = fmt.Sprint(string(b), err)
				})
			}
			both.Wait()
			if answers[0] != answers[1] || !strings.Contains(answers[0], "assetsModified") {
				t.Fatalf("%q", answers)
			}
		}
	})
}

// TestOtherTokens does not answer another token with what a plan has done.
func TestOtherTokens(t *testing.T) {
	each(t, func(w *world) {
		w.make("a", "Story", `"Scope":"Scope:0"`)
		one, two := auth.System, auth.System
		one.Token, two.Token = "01980000-0000-7000-8000-000000000001", "01980000-0000-7000-8000-000000000002"
		p := w.propose(one, w.commands(`{"from":"<a>","update":{"Name":"A"}}`))
		w.apply(one, p.Plan)
		for _, who := range []auth.Actor{two, auth.System} {
			if b, err := w.plan.Apply(t.Context(), who, p.Plan); fault.KindOf(err) != fault.NotFound {
				t.Errorf("token %q: %s %v", who.Token, b, err)
			}
		}
	})
}

// TestAnotherProcess carries out a plan in another process, which gives new assets other ids.
func TestAnotherProcess(t *testing.T) {
	each(t, func(w *world) {
		other, m := *w, meta.Default()
		assets := asset.New(w.d, m, nil, nil)
		other.bulk = bulk.New(assets, find.New(w.d, m))
		other.plan = plan.New(assets, other.bulk, undo.New(assets))
		w.make("c", "Story", `"Scope":"Scope:0"`)
		other.make("m1", "Member", `"Nickname":"m1","DefaultRole":"Role:4"`)
		p := w.propose(auth.System, w.commands(`{"from":"<c>","update":{"Owners":{"add":["<m1>",{"AssetType":"Member","Name":"n","Nickname":"n","DefaultRole":"Role:4"}]}}}`))
		if _, differs := other.apply(auth.System, p.Plan); differs != nil {
			t.Errorf("%q", differs)
		}
	})
}

// TestHiddenNeighbours shows changes whose other end the caller may not see, without that end.
func TestHiddenNeighbours(t *testing.T) {
	each(t, func(w *world) {
		w.make("open", "Scope", `"Parent":"Scope:0","BeginDate":"2026-01-01"`)
		w.make("closed", "Scope", `"Parent":"Scope:0","BeginDate":"2026-01-01"`)
		w.make("m1", "Member", `"Nickname":"m1","DefaultRole":"Role:4"`)
		w.make("m2", "Member", `"Nickname":"m2","DefaultRole":"Role:4"`)
		w.make("m3", "Member", `"Nickname":"m3","DefaultRole":"Role:4"`)
		w.make("d0", "Defect", `"Scope":"<closed>"`)
		w.make("d1", "Defect", `"Scope":"<open>"`)
		w.make("d", "Defect", `"Scope":"<open>","DuplicateOf":"<d0>"`)
		w.make("s1", "Story", `"Scope":"<open>"`)
		w.make("s2", "Story", `"Scope":"<closed>"`)
		w.make("s3", "Story", `"Scope":"<open>","Owners":["<m1>","<m2>","<m3>"]`)
		id := func(name string) int64 {
			_, text, _ := strings.Cut(w.made[name], ":")
			n, _ := strconv.ParseInt(text, 10, 64)
			return n
		}
		lea := auth.Actor{Member: id("m1"), Scopes: []int64{id("open")}, Roles: []meta.Role{4}, Held: meta.RolesOf(4), Members: []int64{id("m1"), id("m3")}}
		for commands, want := range map[string]string{
			`{"from":"<d>","update":{"DuplicateOf":"<d1>"}}`:      `{"asset":"<d>","attribute":"DuplicateOf","old":null,"new":"<d1>"}`,
			`{"from":"<s3>","update":{"Order":{"After":"<s1>"}}}`: `{"asset":"<s3>","attribute":"Order","next":null}`,
			`{"from":"<s3>","execute":"Copy"}`:                    `{"asset":"Story:+1","attribute":"Owners","added":["<m1>","<m3>"],"removed":[]}`,
		} {
			p := w.propose(lea, w.commands(commands))
			if all := strings.Join(p.lines(), "\n"); !strings.Contains(all, w.named(want)) || p.Size.Hidden != 1 {
				t.Errorf("%s: %d hidden, refused %v, no line %s in\n%s", commands, p.Size.Hidden, p.Refused, w.named(want), all)
			}
			for _, name := range []string{"d0", "s2", "m2"} {
				if all := strings.Join(p.lines(), "\n"); strings.Contains(all, strconv.Quote(w.made[name])) {
					t.Errorf("%s tells of %s:\n%s", commands, name, all)
				}
			}
		}
	})
}
