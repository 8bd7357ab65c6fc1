package modeltest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/model/meta"
)

// steepest is how many requests a member sends.
const steepest = 12

// TestNobodyRises checks that no member can get anybody a higher role than its rights allow. The member
// sends random requests: it creates and moves projects, gives and removes roles, and does other things.
// After each request, nobody may have a higher role than at the start, in an old project or in the whole
// system. Exempt are roles that the member could have given at the start, if need be after it ended a role in
// a nearer project. This test checks
// the rules of the model; other tests compare the engine with the model.
func TestNobodyRises(t *testing.T) {
	start := beginnings(t, "sqlite")
	maps.DeleteFunc(start[false].things, func(_ string, x *thing) bool { // rights do not depend on other lists
		return tables[x.typ] == "" && !slices.Contains([]string{"Role", "State", "StoryStatus", "TaskStatus"}, x.typ)
	})
	seed, n, sent := seedOf(), 0, 0
	t.Logf("repeat with -modeltest.seed %d", seed)
	for until := time.Now().Add(inTime()); (n < *sequences || *sequences == 0 && time.Now().Before(until)) && !t.Failed(); seed++ {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 2)), world: start[false].clone()}
		g.run(g.setting())
		if g.by = g.sender(); g.rightsOf(g.by).admin() {
			continue
		}
		n++
		before, own := g.clone(), g.rightsOf(g.by)
		done := ""
		for range steepest {
			g.sees, g.defined = g.rightsOf(g.by), map[string][]any{}
			r := &request{by: g.by}
			for range 1 + g.IntN(3) {
				r.commands = append(r.commands, g.climb())
			}
			done += r.text(func(x ref) string { return x.label }) + "\n"
			if g.run(r); g.things[g.by].state >= 128 {
				break
			}
			sent++
			if why := risen(before, g.world, own); why != "" {
				t.Errorf("seed %d: %s, who is %v in %v, sends\n%s%s", seed, g.by, own.system, own.in, done, why)
				break
			}
		}
	}
	t.Logf("%d members sent %d requests", n, sent)
}

// risen describes a member who has a higher role than before, although a sender with certain rights, the
// parameter by, could not give that role. It returns "" if there is no such member.
func risen(before, now *world, by *rights) string {
	manage := model.Rights.Kind("project members").Roles(meta.ToChange, "Members")
	gives := func(own, role meta.Role) bool { return manage.Has(own) && !higher(role, own) }
	for _, m := range now.sorted("Member") {
		var was meta.Role
		if before.things[m.label] != nil {
			if before.rightsOf(m.label).admin() {
				continue
			}
			was = before.rightsOf(m.label).system
		}
		is := now.rightsOf(m.label).system
		if rises(was, is) && !gives(by.in["Scope:0"], is) && (by.system != meta.MemberAdmin || higher(is, meta.MemberAdmin)) {
			return fmt.Sprintf("%s is %v in the whole system, and was %v", m.label, is, was)
		}
		for _, s := range before.sorted("Scope") {
			was, is := before.nearest(s.label, m.label), now.nearest(s.label, m.label)
			if rises(was, is) && !before.givenBy(s, m.label, is, func(at string, role meta.Role) bool { return gives(by.in[at], role) }) {
				return fmt.Sprintf("%s is %v in %s, and was %v", m.label, is, s.label, was)
			}
		}
	}
	return ""
}

// givenBy reports whether a sender could give a member a role in a project: in the project itself, or in
// a project above it from which the role then applies in the project. A role in a nearer project prevents
// that, unless the sender may end it. gives reports which roles the sender may give and end in a project.
func (w *world) givenBy(s *thing, member string, role meta.Role, gives func(at string, role meta.Role) bool) bool {
	for at := s; at != nil; at = w.things[at.one["Parent"]] {
		if gives(at.label, role) {
			return true
		}
		if nearer, has := w.roles[[2]string{at.label, member}]; has && !gives(at.label, roleOf(nearer)) {
			return false
		}
	}
	return false
}

// climb returns a random command that may get somebody a higher role.
func (g *generator) climb() *command {
	for {
		var c *command
		switch scope, n := g.seenRef("Scope"), g.IntN(100); {
		case scope == nil:
			c = g.attempt()
		case n < 20:
			c = &command{create: &create{label: g.label("Scope"), typ: "Scope", attrs: obj{
				{key: "Name", val: "a"}, {key: "Parent", val: scope}, {key: "BeginDate", val: "2026-01-01"},
			}}}
			if g.chance(30) {
				c.create.attrs = append(c.create.attrs, pair{key: one(g, "Children", "Children", "Members"), val: nil})
				last := &c.create.attrs[len(c.create.attrs)-1]
				last.val = []any{g.seenRef(map[string]string{"Children": "Scope", "Members": "Member"}[last.key])}
			}
		case n < 45:
			to := g.seenRef("Scope")
			c = one(g, &command{from: scope, update: obj{{key: "Parent", val: to}}}, &command{from: scope, update: obj{{key: "Children", val: []any{to}}}})
			if g.chance(20) {
				c.update = append(c.update, pair{key: "Members", val: obj{{key: one(g, "add", "remove"), val: g.seenRef("Member")}}})
			}
		case n < 85:
			c = g.attemptAppointment()
		case n < 92:
			c = &command{from: scope, op: one(g, "Delete", "Undelete", "Inactivate"), where: obj{{key: "IsDeleted", val: g.chance(50)}}}
		default:
			c = g.attempt()
		}
		if c != nil && !wellKnownScope(c.from) {
			return c
		}
	}
}

// wellKnownScope reports whether a command is about the root project, which is never moved or deleted.
func wellKnownScope(from any) bool {
	r, ok := from.(ref)
	return ok && r.label == "Scope:0"
}
