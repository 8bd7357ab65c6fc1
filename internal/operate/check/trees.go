package check

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// cycles expects that no asset is its own ancestor in any tree.
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
		up := map[int64]int64{} // the parent of each inner node; leaves cannot be in a cycle
		node := func(scan row) error {
			var id, above int64
			err := scan(&id, &above)
			up[id] = above
			return err
		}
		var err error
		if t.kind == meta.InLinks {
			err = c.eachEdge(ctx, links.of(t.code), node, `SELECT from_id, to_id FROM asset_link a WHERE until_moment = ?`+
				` AND EXISTS (SELECT 1 FROM asset_link b`+
				` WHERE b.relation = a.relation AND b.to_id = a.from_id AND b.until_moment = a.until_moment)`+
				` AND {from_id} AND relation = ? AND from_type = ?`, forever)
		} else {
			err = c.eachIn(ctx, byAsset, node, `SELECT id, `+t.name+` FROM asset a WHERE `+t.name+` IS NOT NULL AND {id}`+
				` AND EXISTS (SELECT 1 FROM asset b WHERE b.`+t.name+` = a.id)`)
		}
		if err != nil {
			return err
		}
		if err := c.reportCycles(up, a); err != nil {
			return err
		}
	}
	return nil
}

// reportCycles reports one asset of each cycle. The parameter up has the parent of each inner node.
func (c *checker) reportCycles(up map[int64]int64, a *meta.Attr) error {
	visited := map[int64]bool{}
	for _, id := range slices.Sorted(maps.Keys(up)) {
		path := map[int64]bool{}
		at, more := id, true
		for more && !visited[at] && !path[at] {
			path[at] = true
			at, more = up[at]
		}
		if more && path[at] {
			if err := c.report("asset", at, "it is its own ancestor by %s", a.Token()); err != nil {
				return err
			}
		}
		for on := range path {
			visited[on] = true
		}
	}
	return nil
}

// projectTree expects that scope_closure contains every project with each of its ancestors, at
// every moment. The parents in the versions of the projects determine the ancestors.
func (c *checker) projectTree(ctx context.Context) error {
	t, ok := c.m.Type("Scope")
	if !ok {
		return nil
	}
	up, ok := t.Attr("Parent")
	if !ok {
		return nil
	}
	h := &treeHistory{
		up: map[int64]int64{}, below: map[int64]map[int64]bool{},
		above: map[int64]map[int64]int{}, want: map[pair][]span{},
	}
	type placed struct {
		id, moment int64
		parent     *int64
	}
	var all []placed
	err := c.eachIn(ctx, ofType(t.Code), func(scan row) error {
		var p placed
		err := scan(&p.id, &p.moment, &p.parent)
		all = append(all, p)
		return err
	}, `SELECT v.id, v.moment, v.`+up.Place.Column+` FROM asset a JOIN asset_version v ON v.id = a.id`+
		` WHERE a.type = ? AND {a.id} AND v.type = a.type`, t.Code)
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b placed) int { return cmp.Or(cmp.Compare(a.moment, b.moment), cmp.Compare(a.id, b.id)) })
	for _, p := range all {
		h.set(p.id, p.moment, p.parent)
	}
	h.apply()
	return c.compareTree(ctx, h)
}

// compareTree compares scope_closure with the spans that h has computed.
func (c *checker) compareTree(ctx context.Context, h *treeHistory) error {
	const table = "scope_closure"
	err := c.eachPair(ctx, key{table: table, column: "ancestor_id"}, func(p pair, spans []span) error {
		got, disjoint := joined(spans)
		want, _ := joined(h.want[p])
		delete(h.want, p)
		if disjoint && slices.Equal(got, want) {
			return nil
		}
		c.mend(`DELETE FROM scope_closure WHERE ancestor_id = ? AND descendant_id = ?`, p.a, p.b)
		c.mendTree(p, want)
		if !disjoint {
			return c.report(table, p.b, "its spans below %d overlap", p.a)
		}
		return c.report(table, p.b,
			"its spans (since, until, depth) below %d are %v, but the versions of the projects give %v", p.a, got, want)
	}, `SELECT ancestor_id, descendant_id, since_moment, until_moment, depth FROM scope_closure`+
		` WHERE {ancestor_id} ORDER BY ancestor_id, descendant_id, since_moment`)
	if err != nil {
		return err
	}
	for p, spans := range h.want {
		c.mendTree(p, spans)
		err := c.report(table, p.b, "the rows for its spans (since, until, depth) below %d are missing: %v", p.a, spans)
		if err != nil {
			return err
		}
	}
	return nil
}

// mendTree adds statements that insert the rows of scope_closure for a pair.
func (c *checker) mendTree(p pair, spans []span) {
	for _, s := range spans {
		c.mend(`INSERT INTO scope_closure (ancestor_id, descendant_id, since_moment, until_moment, depth)`+
			` VALUES (?, ?, ?, ?, ?)`, p.a, p.b, s.since, s.until, s.what)
	}
}

// treeHistory computes the expected spans of scope_closure from the parents of the projects, moment
// by moment.
type treeHistory struct {
	moment int64                    // the moment of the last call of set
	up     map[int64]int64          // the parent of each project
	below  map[int64]map[int64]bool // the children of each project
	moved  []int64                  // projects whose parent changed at the moment in the field moment
	above  map[int64]map[int64]int  // by project: its ancestors before this moment, with their distances
	want   map[pair][]span          // the result: the expected spans of each pair
}

// set sets the parent of a project from a moment on. If parent is nil, the project has no parent.
// Calls must be in the order of moments.
func (h *treeHistory) set(id, moment int64, parent *int64) {
	if moment != h.moment {
		h.apply()
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

// apply updates the spans of the projects whose parents changed, and of all projects below them.
func (h *treeHistory) apply() {
	seen := map[int64]bool{}
	for todo := h.moved; len(todo) > 0; todo = todo[1:] {
		id := todo[0]
		if seen[id] {
			continue
		}
		seen[id] = true
		h.replace(id, h.ancestors(id))
		todo = append(todo, slices.Collect(maps.Keys(h.below[id]))...)
	}
	h.moved = nil
}

// ancestors returns the ancestors of a project, each with its distance. The result includes the
// project itself, with the distance 0.
func (h *treeHistory) ancestors(id int64) map[int64]int {
	all := map[int64]int{id: 0}
	for at, ok := h.up[id]; ok; at, ok = h.up[at] {
		if _, cycle := all[at]; cycle {
			break
		}
		all[at] = len(all)
	}
	return all
}

// replace ends the spans of a project below its former ancestors, and begins spans below its new
// ancestors. The keys of the map now are the new ancestors, and its values are their distances.
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

// mendRoles adds statements that end each role of a member in a project when the next role begins.
func (c *checker) mendRoles(p pair, roles []span) {
	for i := 1; i < len(roles); i++ {
		if next := roles[i].since; roles[i-1].until > next {
			c.mend(`UPDATE scope_member SET until_moment = ? WHERE scope_id = ? AND member_id = ? AND since_moment = ?`,
				next, p.a, p.b, roles[i-1].since)
		}
	}
}

var byScope = key{table: "scope_member", column: "scope_id"}

// memberships expects that scope_member matches the links from projects to their members, at every
// moment whose history is kept. The roles in scope_member must be assets of the type Role, and
// is_owner must be 0 or 1.
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
	from, err := c.kept(ctx)
	if err != nil {
		return err
	}
	types, err := c.fromTypes(ctx, links, members.Place.Code) // the check "links" reports wrong types
	if err != nil {
		return err
	}
	in, args := db.InArgs(append(types, t.Code))
	err = c.eachPair(ctx, byScope, func(p pair, spans []span) error {
		sides := bySide(spans)   // 0: from links; 1: from scope_member
		links := union(sides[0]) // the check "links" reports links that overlap
		rows, disjoint := joined(sides[1])
		switch {
		case !disjoint:
			c.mendRoles(p, sides[1])
			return c.report("scope_member", p.a, "member %d has two roles at the same time", p.b)
		case !slices.Equal(behind(from, links), behind(from, rows)):
			for _, s := range lacking(rows, links) {
				c.mend(`INSERT INTO asset_link (relation, from_type, from_id, to_id, since_moment, until_moment)`+
					` VALUES (?, ?, ?, ?, ?, ?)`,
					members.Place.Code, t.Code, p.a, p.b, s.since, s.until)
			}
			return c.report("scope_member", p.a,
				"the spans (since, until) of the roles of member %d are %v, but those of its links are %v",
				p.b, rows, links)
		}
		return nil
	}, `SELECT from_id AS a, to_id AS b, since_moment AS s, until_moment, 0 AS side FROM asset_link`+
		` WHERE relation = ? AND from_type IN `+in+` AND {from_id}`+
		` UNION ALL SELECT scope_id, member_id, since_moment, until_moment, 1 FROM scope_member`+
		` WHERE {scope_id} ORDER BY a, b, side, s`,
		append([]any{members.Place.Code}, args...)...)
	if err != nil {
		return err
	}
	return c.eachIn(ctx, byScope, func(scan row) error {
		var scope, member, to int64
		if err := scan(&scope, &member, &to); err != nil {
			return err
		}
		return c.report("scope_member", scope,
			"the role of member %d is %d, which is not a role, or its is_owner is not 0 or 1", member, to)
	}, `SELECT m.scope_id, m.member_id, m.role_id FROM scope_member m LEFT JOIN asset r ON r.id = m.role_id`+
		` WHERE {m.scope_id} AND (r.id IS NULL OR r.type <> ? OR m.is_owner NOT IN (0, 1))`+
		` ORDER BY m.scope_id, m.member_id`, role.Code)
}
