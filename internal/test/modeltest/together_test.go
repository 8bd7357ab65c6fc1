package modeltest

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/operate/check"
	"github.com/alds-dev/alds/internal/write/bulk"
)

var together = flag.Duration("modeltest.together", 0, "for how long requests are sent at once; 0: some seconds")

// roundsOfDatabase is how many rounds of requests one database gets.
const roundsOfDatabase = 60

// TestTogether sends two or three writes to a server at the same time. The writes change both ends of a
// relation, change the members and roles of a project, move assets, run operations, or select assets by a
// value that they also change. For one of the orders of the writes, the model must have the same answers
// and the same content as the database. The command check must find no fault.
func TestTogether(t *testing.T) {
	seed, last := seedOf(), *together
	if last == 0 {
		last = inTime() * 3
	}
	t.Logf("repeat with -modeltest.seed %d", seed)
	n, refused := 0, 0
	for until := time.Now().Add(last); time.Now().Before(until) && !t.Failed(); seed++ {
		t.Run("database", func(t *testing.T) {
			m := meeting{t: t, generator: &generator{Rand: rand.New(rand.NewPCG(seed, 1)), by: "Member:20"}}
			m.database, m.engine = setUp(t, "mysql", false)
			m.now = m.mustDump(t)
			m.world = m.now.clone()
			if why := m.step(t.Context(), m.engine, m.now, m.setting()); why != "" {
				t.Fatal(why)
			}
			for range roundsOfDatabase {
				if !m.round() || time.Now().After(until) {
					break
				}
				n++
			}
			refused += m.refused
			found, err := check.Run(t.Context(), m.d, m.m)
			if err != nil || len(found) > 0 {
				t.Errorf("seed %d: the checker says %v %v", seed, found, err)
			}
			if t.Failed() {
				t.Logf("repeat with -modeltest.seed %d", seed)
			}
		})
	}
	t.Logf("%d times at once; %d requests gave up", n, refused)
}

// meeting is a database that gets several requests at the same time.
type meeting struct {
	t *testing.T
	*generator
	*database
	engine  *bulk.Engine
	now     *world // expected content of the database
	refused int    // number of requests that the engine gave up because of deadlocks
}

// met is a request that was sent together with others, with its answer.
type met struct {
	*request
	body string
	raw  []byte
	err  error
}

// round sends some requests at the same time. It returns true if, for one of their orders, the model has
// the same result.
func (m *meeting) round() bool {
	m.world = m.now.clone()
	m.sees = m.rightsOf(m.by)
	all := m.meet(m.rivals())
	known, ids := maps.Clone(m.labels), maps.Clone(m.ids)
	var why strings.Builder
	for _, order := range orders(len(all)) {
		after, diff := m.inOrder(all, order)
		if diff == "" {
			m.now = after
			return true
		}
		fmt.Fprintf(&why, "\nin the order %v:\n%s", order, diff)
		m.labels, m.ids = maps.Clone(known), maps.Clone(ids)
	}
	for i, r := range all {
		fmt.Fprintf(&why, "\nrequest %d: %s\nanswer: %s %v", i, r.body, r.raw, r.err)
	}
	m.t.Errorf("no order explains what came of requests that were sent at once%s", why.String())
	return false
}

// meet sends requests at the same time and returns them with their answers. It leaves out requests that the
// engine gave up. Such requests must not have changed anything.
func (m *meeting) meet(requests []*request) (all []*met) {
	who, err := m.actors.ActorOf(m.t.Context(), auth.SystemMember)
	if err != nil {
		m.t.Fatal(err)
	}
	sent := make([]*met, len(requests))
	var wait sync.WaitGroup
	for i, r := range requests {
		sent[i] = &met{request: r, body: r.text(m.oid)}
	}
	for _, r := range sent {
		wait.Go(func() { r.raw, r.err = m.engine.Run(context.Background(), who, bulk.Request{Body: []byte(r.body)}) })
	}
	wait.Wait()
	for _, r := range sent {
		if fault.KindOf(r.err) == fault.Transient && r.err != nil {
			m.refused++
			continue
		}
		all = append(all, r)
	}
	return all
}

// inOrder executes requests on the model in the given order. It returns the world afterwards, and a
// description of how the engine differs, or "".
func (m *meeting) inOrder(all []*met, order []int) (*world, string) {
	w := m.now.clone()
	for _, i := range order {
		r := all[i]
		want := w.run(r.request)
		var got response
		switch {
		case want.refused != (r.err != nil):
			return nil, fmt.Sprintf("request %d: the engine answers %v, the model refuses: %v", i, r.err, want.refused)
		case want.refused:
			continue
		}
		if err := json.Unmarshal(r.raw, &got); err != nil {
			return nil, err.Error()
		}
		if diff := m.compare(want, got, r.request); diff != "" {
			return nil, fmt.Sprintf("request %d: %s", i, diff)
		}
	}
	if err := m.adopt(m.t.Context(), w); err != nil {
		return nil, err.Error()
	}
	has, err := m.dump(m.t.Context())
	if err != nil {
		return nil, err.Error()
	}
	w.ranks, w.places = has.ranks, map[string]int{} // new assets are ranked in the order of the writes
	if diff := differ(w, has); diff != "" {
		return nil, "the database differs (-model +database):\n" + diff
	}
	for label, x := range w.things {
		x.nr = has.things[label].nr - 1<<30
	}
	return w, ""
}

// orders returns all orders of the numbers from 0 to n-1.
func orders(n int) (all [][]int) {
	if n == 0 {
		return [][]int{nil}
	}
	for _, o := range orders(n - 1) {
		for at := range n {
			all = append(all, append(append(append([]int(nil), o[:at]...), n-1), o[at:]...))
		}
	}
	return all
}

// rivals returns two or three requests that can affect each other. Each has one command.
func (m *meeting) rivals() (all []*request) {
	g := m.generator
	kind := one(g, g.bothEnds, g.bothEnds, g.bothEnds, g.members, g.members, g.crossing, g.claims, g.aroundOne, g.aroundOne, g.aroundOne, g.anything)
	made := kind()
	for n := 2 + g.IntN(5)/4; len(all) < n; {
		g.defined = map[string][]any{}
		if r := (&request{by: m.by, commands: []*command{made()}}); m.staysAdmin(r) {
			all = append(all, r)
		}
	}
	return all
}

// staysAdmin reports whether the sender is still an administrator after a request. Each request keeps the
// rights that the sender had when it began. If one request removed these rights, the others could still use
// them, and no order of the requests would explain that.
func (m *meeting) staysAdmin(r *request) bool {
	after := m.now.clone()
	after.run(r)
	return after.rightsOf(m.by).admin()
}

// bothEnds returns a function that makes commands about one relation between two assets. The commands write
// the relation from either end.
func (g *generator) bothEnds() func() *command {
	for {
		t := g.anySeen(one(g, "Scope", "Epic", "Epic", "Story", "Story", "Task", "Theme", "Member", "Timebox", "Schedule"))
		if t == nil {
			continue
		}
		a := one(g, g.attrs(t.typ)...)
		if a.to == "" || a.readOnly || a.to == "StoryStatus" || a.to == "TaskStatus" || a.to == "State" || a.to == "Role" {
			continue
		}
		other := g.anySeen(g.farEnd(t.typ, a))
		if other == nil {
			continue
		}
		near := func() *command { return g.relate(t, a, other) }
		far, ok := g.backOf(t, a, other)
		return func() *command {
			switch n := g.IntN(100); {
			case n < 50 || !ok && n < 90:
				return near()
			case n < 90:
				return g.relate(other, far, t)
			}
			return g.operateOn(one(g, t, other))
		}
	}
}

// farEnd returns a type that a relation accepts.
func (g *generator) farEnd(typ string, a attr) string {
	if a.kind == ">" && a.to != "Dependent" {
		return a.to
	}
	return g.below(typ, a)
}

// backOf returns the attribute at the other end of the relation a, on the asset other, if that attribute
// can be written.
func (g *generator) backOf(t *thing, a attr, other *thing) (attr, bool) {
	for _, b := range g.attrs(other.typ) {
		if (b.name == a.back || b.back == a.name && a.back == "") && b.to != "" && (isA(t.typ, b.to) || b.to == "Dependent") && !b.readOnly {
			return b, true
		}
	}
	return attr{}, false
}

// relate returns a command that adds the asset other to a relation of the asset t, or removes it.
func (g *generator) relate(t *thing, a attr, other *thing) *command {
	to := any(ref{other.label, other.typ})
	switch {
	case a.kind == ">" && g.chance(20):
		to = nil
	case a.kind != ">":
		to = obj{{key: one(g, "add", "add", "remove"), val: to}}
	}
	return &command{from: ref{t.label, t.typ}, update: obj{{key: a.name, val: to}}}
}

func (g *generator) operateOn(t *thing) *command {
	c := &command{from: ref{t.label, t.typ}, op: one(g, "Delete", "Delete", "Inactivate", "Reactivate", "QuickSignup", "Close")}
	if wellKnown(ref{label: t.label}) {
		c.op = "Reactivate"
	}
	if _, ok := operations[t.typ][c.op]; !ok {
		c.op = "Reactivate"
	}
	return c
}

// members returns a function that makes commands about one member and one project. They give and remove
// roles.
func (g *generator) members() func() *command {
	scope, member := g.anySeen("Scope"), g.anySeen("Member") // never nil: root project and administrator always exist
	return func() *command {
		to := obj{{key: one(g, "add", "remove"), val: ref{member.label, "Member"}}}
		in := obj{{key: one(g, "add", "remove"), val: ref{scope.label, "Scope"}}}
		role := func(other string, r ref) []obj {
			return []obj{{{key: other, val: r}, {key: "Role", val: g.role()}, {key: "IsOwner", val: g.chance(50)}}}
		}
		return one(g,
			&command{from: ref{scope.label, "Scope"}, op: "AssignMemberWithRole", args: role("Member", ref{member.label, "Member"})},
			&command{from: ref{member.label, "Member"}, op: "AssignToScopeWithRole", args: role("Scope", ref{scope.label, "Scope"})},
			&command{from: ref{scope.label, "Scope"}, update: obj{{key: "Members", val: to}}},
			&command{from: ref{member.label, "Member"}, update: obj{{key: "Scopes", val: in}}})
	}
}

// crossing returns a function that makes commands that move assets below each other, written from either
// end.
func (g *generator) crossing() func() *command {
	typ, up, down := "Scope", "Parent", "Children"
	if g.chance(50) {
		typ, up, down = "Epic", "Super", "Subs"
	}
	if g.anySeen(typ) == nil {
		return g.anything()
	}
	return func() *command {
		t, other := g.anySeen(typ), g.anySeen(typ)
		if wellKnown(ref{label: t.label}) || g.chance(40) {
			return &command{from: ref{t.label, typ}, update: obj{{key: down, val: obj{{key: "add", val: ref{other.label, typ}}}}}}
		}
		return &command{from: ref{t.label, typ}, update: obj{{key: up, val: ref{other.label, typ}}}}
	}
}

// claims returns a function that makes commands. Each command selects assets by a value and changes this
// value, so that other such commands may no longer find the assets.
func (g *generator) claims() func() *command {
	typ := one(g, "Story", "Story", "Epic", "Task", "Workitem")
	was := one[any](g, "a", "b", "c", "d")
	return func() *command {
		c := &command{from: typ, where: obj{{key: "Name", val: was}}, update: obj{{key: "Name", val: one[any](g, "a", "b", "c", "d")}, {key: "Reference", val: fmt.Sprint(g.IntN(100))}}}
		if g.chance(20) {
			c.update, c.op = nil, one(g, "Close", "Inactivate", "Delete")
		}
		return c
	}
}

// aroundOne returns a function that makes commands about one asset: they change the asset and its parts, or
// move, close or delete it.
func (g *generator) aroundOne() func() *command {
	t := g.anySeen(one(g, "Story", "Story", "Story", "Epic"))
	if t == nil {
		return g.anything()
	}
	at := ref{t.label, t.typ}
	return func() *command {
		switch scope := g.anySeen("Scope"); one(g, 0, 0, 1, 2, 2, 3, 4) {
		case 0:
			return &command{from: at, update: obj{{key: "Scope", val: ref{scope.label, "Scope"}}}}
		case 1:
			return g.operateOn(t)
		case 2:
			if t.typ == "Epic" {
				return &command{create: &create{label: g.label("Story"), typ: "Story", attrs: obj{{key: "Name", val: "a"}, {key: "Scope", val: ref{scope.label, "Scope"}}, {key: "Super", val: at}}}}
			}
			return &command{create: &create{label: g.label("Task"), typ: "Task", attrs: obj{{key: "Name", val: "a"}, {key: "Parent", val: at}}}}
		case 3:
			return &command{from: at, op: "Undelete", where: obj{{key: "IsDeleted", val: true}}}
		}
		c := &command{from: at, update: obj{{key: "Reference", val: one(g, "r", "s")}}}
		if t.typ == "Story" {
			c.update = append(c.update, pair{key: "TaggedWith", val: one[any](g, "red", "blue", obj{{key: "remove", val: "red"}})})
		}
		return c
	}
}

// anything returns a function that makes writes of all kinds that name assets by Oid. It makes no writes
// that select assets by type: of two such writes, each may miss assets that match only because of the
// other. No order of the writes explains such a result, and the service does not rule it out.
func (g *generator) anything() func() *command {
	return func() *command {
		for {
			c := one(g, g.update, g.operation, g.burial, g.attempt)()
			if c == nil {
				continue
			}
			if _, byType := c.from.(string); !byType && c.junk == "" && c.sel == nil {
				c.update = without(c.update, "Order")
				return c
			}
		}
	}
}
