package auth

import (
	"slices"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestMembersThatAreSeen(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		// The scope tree: 1001 and 1003 are below 0, and 1002 is below 1001.
		for _, c := range [][3]int64{{0, 0, 0}, {1001, 1001, 0}, {1002, 1002, 0}, {1003, 1003, 0}, {0, 1001, 1}, {0, 1003, 1}, {0, 1002, 2}, {1001, 1002, 1}} {
			w.exec("INSERT INTO scope_closure (ancestor_id, descendant_id, depth, since_moment, until_moment) VALUES (?, ?, ?, 1, ?)", c[0], c[1], c[2], db.Forever)
		}
		hold := func(member, scope, role, since, until int64) {
			w.exec("INSERT INTO scope_member (scope_id, member_id, role_id, is_owner, since_moment, until_moment) VALUES (?, ?, ?, 0, ?, ?)", scope, member, w.role(role), since, until)
		}
		const boss, lead, below, beside, barred, former = 2001, 2002, 2003, 2004, 2005, 2006
		for _, m := range []int64{boss, lead, below, beside, barred, former} {
			w.member(m, 64, 4)
		}
		hold(boss, 0, 3, 5, db.Forever)
		hold(lead, 1001, 3, 5, db.Forever)
		hold(below, 1002, 4, 5, db.Forever)
		hold(beside, 1003, 4, 5, db.Forever)
		hold(barred, 1002, 0, 5, db.Forever)
		hold(former, 1002, 4, 5, 9)
		sees := func(why string, member, at int64, want ...int64) {
			t.Helper()
			a, err := w.s.ActorAt(t.Context(), member, at)
			if err != nil || !slices.Equal(a.Members, want) || a.At != at {
				t.Errorf("%s: %v, %v", why, a, err)
			}
		}
		sees("those in its projects, below them and above them", lead, 10, boss, lead, below)
		sees("not those beside it", below, 10, boss, lead, below)
		sees("oneself, even without a project", barred, 10, barred)
		sees("who was there at the moment", below, 8, boss, lead, below, former)
		sees("before the roles were given", below, 4, below)
		w.s.RolesChanged(false)
		a, err := w.s.ActorOf(t.Context(), below)
		if err != nil || !slices.Equal(a.Members, []int64{boss, lead, below}) || a.At != 0 {
			t.Errorf("now: %v, %v", a, err)
		}
		hold(beside, 1002, 4, 11, db.Forever)
		if a, _ = w.s.ActorOf(t.Context(), below); slices.Contains(a.Members, beside) {
			t.Errorf("a role of another process is known before a second has passed: %v", a)
		}
		w.s.RolesChanged(false)
		if a, _ = w.s.ActorOf(t.Context(), below); !slices.Contains(a.Members, beside) {
			t.Errorf("a role given by this process: %v", a)
		}
		hold(former, 1002, 4, 12, db.Forever)
		w.clock.pass(maxAge)
		if a, _ = w.s.ActorOf(t.Context(), below); !slices.Contains(a.Members, former) {
			t.Errorf("a second later: %v", a)
		}
	})
}

func TestAdministratorsSeeAllMembers(t *testing.T) {
	w := newFixture(t, testdb.SQLite(t))
	w.exec("INSERT INTO scope_closure (ancestor_id, descendant_id, depth, since_moment, until_moment) VALUES (0, 0, 0, 1, ?), (1001, 1001, 0, 1, ?)", db.Forever, db.Forever)
	for i, c := range []struct {
		role  int64 // default role
		scope int64
		held  int64
		want  bool
	}{
		{1, 1001, 4, true},
		{12, 1001, 4, true},
		{2, 1001, 4, false},
		{4, 1001, 2, true},
		{4, 1001, 1, true},
		{4, 1001, 3, false},
		{4, 1001, 12, false},
		{4, 0, 12, true},
		{4, 0, 1, true},
	} {
		member := int64(2000 + i)
		w.member(member, 64, c.role)
		w.exec("INSERT INTO scope_member (scope_id, member_id, role_id, is_owner, since_moment, until_moment) VALUES (?, ?, ?, 0, 5, ?)", c.scope, member, w.role(c.held), db.Forever)
		a, err := w.s.ActorOf(t.Context(), member)
		if sees, _ := a.SeesMember(77); err != nil || a.AllMembers() != c.want || sees != c.want || (a.Members == nil) != c.want {
			t.Errorf("Role:%d by default and Role:%d in %d: %v, %v", c.role, c.held, c.scope, a, err)
		}
	}
}
