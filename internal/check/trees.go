package check

import (
	"context"
	"maps"
	"slices"

	"github.com/alds-dev/alds/internal/meta"
)

// cycles expects no asset to stand above itself in any tree.
func (c *checker) cycles(ctx context.Context) error {
	type tree struct {
		kind meta.PlaceKind
		name string
		code int
	}
	trees := map[tree]*meta.Attr{}
	_ = c.types(func(t *meta.Type) error {
		for _, h := range t.Hierarchies {
			p := h.Up.Place
			trees[tree{p.Kind, p.Column, p.Code}] = h.Up
		}
		return nil
	})
	for t, a := range trees {
		query, args := `SELECT id, `+t.name+` FROM asset a WHERE `+t.name+` IS NOT NULL AND EXISTS (SELECT 1 FROM asset b WHERE b.`+t.name+` = a.id)`, []any(nil)
		if t.kind == meta.InLinks {
			query = `SELECT from_id, to_id FROM asset_link a WHERE relation = ? AND until_moment = ?` +
				` AND EXISTS (SELECT 1 FROM asset_link b WHERE b.relation = a.relation AND b.to_id = a.from_id AND b.until_moment = a.until_moment)`
			args = []any{t.code, forever}
		}
		up := map[int64]int64{} // of inner nodes: a circle has no others
		err := c.each(ctx, func(scan row) error {
			var id, above int64
			err := scan(&id, &above)
			up[id] = above
			return err
		}, query, args...)
		if err != nil {
			return err
		}
		if err := c.circles(up, a); err != nil {
			return err
		}
	}
	return nil
}

// circles reports every asset from which the way up comes back to it.
func (c *checker) circles(up map[int64]int64, a *meta.Attr) error {
	safe := map[int64]bool{}
	for _, id := range slices.Sorted(maps.Keys(up)) {
		way := map[int64]bool{}
		at, more := id, true
		for more && !safe[at] && !way[at] {
			way[at] = true
			at, more = up[at]
		}
		if more && way[at] {
			if err := c.report("asset", at, "it stands above itself by %s", a.Token()); err != nil {
				return err
			}
		}
		for on := range way {
			safe[on] = true
		}
	}
	return nil
}

// pair is two projects, one above the other, or a project and a member.
type pair struct{ a, b int64 }

// projectTree expects scope_closure to be the tree that the versions of the
// projects make, at every moment.
func (c *checker) projectTree(ctx context.Context) error {
	t, ok := c.m.Type("Scope")
	if !ok {
		return nil
	}
	up, ok := t.Attr("Parent")
	if !ok {
		return nil
	}
	h := &treeHistory{up: map[int64]int64{}, below: map[int64]map[int64]bool{}, above: map[int64]map[int64]int{}, want: map[pair][]span{}}
	err := c.each(ctx, func(scan row) error {
		var id, moment int64
		var parent *int64
		if err := scan(&id, &moment, &parent); err != nil {
			return err
		}
		h.set(id, moment, parent)
		return nil
	}, `SELECT id, moment, `+up.Place.Column+` FROM asset_version WHERE type = ? ORDER BY moment, id`, t.Code)
	if err != nil {
		return err
	}
	h.settle()
	return c.compareTree(ctx, h)
}

func (c *checker) compareTree(ctx context.Context, h *treeHistory) error {
	const table = "scope_closure"
	var at pair
	var have []span
	flush := func() error {
		if have == nil {
			return nil
		}
		got, ok := joined(have)
		have = nil
		want, _ := joined(h.want[at])
		delete(h.want, at)
		switch {
		case !ok:
			return c.report(table, at.b, "spans below %d overlap", at.a)
		case !slices.Equal(got, want):
			return c.report(table, at.b, "below %d: since, until, depth are %v, by the projects' versions %v", at.a, got, want)
		}
		return nil
	}
	err := c.each(ctx, func(scan row) error {
		var p pair
		var s span
		if err := scan(&p.a, &p.b, &s.since, &s.until, &s.what); err != nil {
			return err
		}
		if p != at {
			if err := flush(); err != nil {
				return err
			}
			at = p
		}
		have = append(have, s)
		return nil
	}, `SELECT ancestor_id, descendant_id, since_moment, until_moment, depth FROM scope_closure ORDER BY ancestor_id, descendant_id, since_moment`)
	if err == nil {
		err = flush()
	}
	if err != nil {
		return err
	}
	for p, spans := range h.want {
		if err := c.report(table, p.b, "no row says that it is below %d: %v", p.a, spans); err != nil {
			return err
		}
	}
	return nil
}

// treeHistory follows the project tree through its moments.
type treeHistory struct {
	moment int64
	up     map[int64]int64
	below  map[int64]map[int64]bool
	moved  []int64                 // at moment
	above  map[int64]map[int64]int // ancestors and their distance, before moment
	want   map[pair][]span
}

// set notes the parent that a project has from a moment on.
func (h *treeHistory) set(id, moment int64, parent *int64) {
	if moment != h.moment {
		h.settle()
		h.moment = moment
	}
	old, had := h.up[id]
	if h.above[id] != nil && (parent == nil) == !had && (parent == nil || *parent == old) {
		return
	}
	if had {
		delete(h.below[old], id)
		delete(h.up, id)
	}
	if parent != nil {
		h.up[id] = *parent
		if h.below[*parent] == nil {
			h.below[*parent] = map[int64]bool{}
		}
		h.below[*parent][id] = true
	}
	h.moved = append(h.moved, id)
}

// settle brings the spans up to the moment: for what has moved and all below.
func (h *treeHistory) settle() {
	seen := map[int64]bool{}
	for todo := h.moved; len(todo) > 0; todo = todo[1:] {
		id := todo[0]
		if seen[id] {
			continue
		}
		seen[id] = true
		h.replace(id, h.way(id))
		todo = append(todo, slices.Collect(maps.Keys(h.below[id]))...)
	}
	h.moved = nil
}

// way returns all that is above a project now, itself at distance 0.
func (h *treeHistory) way(id int64) map[int64]int {
	way := map[int64]int{id: 0}
	for at, ok := h.up[id]; ok; at, ok = h.up[at] {
		if _, circle := way[at]; circle {
			break
		}
		way[at] = len(way)
	}
	return way
}

// replace ends the spans of what is no longer above a project and begins those
// of what is now.
func (h *treeHistory) replace(id int64, now map[int64]int) {
	for above, depth := range h.above[id] {
		if d, still := now[above]; !still || d != depth {
			spans := h.want[pair{above, id}]
			spans[len(spans)-1].until = h.moment
		}
	}
	for above, depth := range now {
		if d, was := h.above[id][above]; !was || d != depth {
			p := pair{above, id}
			h.want[p] = append(h.want[p], span{h.moment, forever, depth})
		}
	}
	h.above[id] = now
}

// memberships expects scope_member to say of every moment the same as the
// relation of projects to their members, and its roles to be roles.
func (c *checker) memberships(ctx context.Context) error {
	t, ok := c.m.Type("Scope")
	if !ok {
		return nil
	}
	members, ok := t.Attr("Members")
	role, isType := c.m.Type("Role")
	if !ok || !isType {
		return nil
	}
	var at pair
	var sides [2][]span // by link, by scope_member
	flush := func() error {
		links, _ := joined(sides[0])
		rows, fine := joined(sides[1])
		sides = [2][]span{}
		switch {
		case !fine:
			return c.report("scope_member", at.a, "member %d has two roles at once", at.b)
		case !slices.Equal(links, rows):
			return c.report("scope_member", at.a, "since, until of member %d are %v, of the relation %v", at.b, rows, links)
		}
		return nil
	}
	err := c.each(ctx, func(scan row) error {
		var p pair
		var s span
		var side int
		if err := scan(&p.a, &p.b, &s.since, &s.until, &side); err != nil {
			return err
		}
		if p != at {
			if err := flush(); err != nil {
				return err
			}
			at = p
		}
		sides[side] = append(sides[side], s)
		return nil
	}, `SELECT from_id AS a, to_id AS b, since_moment AS s, until_moment, 0 AS side FROM asset_link WHERE relation = ?`+
		` UNION ALL SELECT scope_id, member_id, since_moment, until_moment, 1 FROM scope_member ORDER BY a, b, side, s`, members.Place.Code)
	if err == nil {
		err = flush()
	}
	if err != nil {
		return err
	}
	return c.each(ctx, func(scan row) error {
		var scope, member, to int64
		if err := scan(&scope, &member, &to); err != nil {
			return err
		}
		return c.report("scope_member", scope, "the role of member %d is %d, which is no role, or is_owner is no truth", member, to)
	}, `SELECT m.scope_id, m.member_id, m.role_id FROM scope_member m LEFT JOIN asset r ON r.id = m.role_id`+
		` WHERE r.id IS NULL OR r.type <> ? OR m.is_owner NOT IN (0, 1)`, role.Code)
}
