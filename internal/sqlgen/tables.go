package sqlgen

import (
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/query"
)

var forever = strconv.FormatInt(db.Forever, 10)

// names fills in the aliases of a piece of fixed SQL.
func names(text, member, closure string) string {
	return strings.NewReplacer("%m", member, "%c", closure, "%f", forever).Replace(text)
}

// used finds the tables a statement needs: those an expression reads, those on
// the way to them, and inner joins that leave rows out.
func (e *emitter) used(s *query.Select, cells, where []query.Expr, order []query.Order) map[*query.Table]bool {
	u := &usage{visibility: e.Visibility, read: map[*query.Table]bool{}, parent: map[*query.Table]*query.Table{}}
	u.tree(s.From)
	u.clauses(cells, where, order)
	u.Table(s.From)
	u.inner(s.From)
	return u.read
}

// usage collects which tables are read.
type usage struct {
	visibility Visibility
	read       map[*query.Table]bool
	parent     map[*query.Table]*query.Table
}

func (u *usage) tree(t *query.Table) {
	for _, j := range t.Joins {
		u.parent[j] = t
		u.tree(j)
	}
}

// inner marks the inner joins that restrict the rows.
func (u *usage) inner(t *query.Table) {
	for _, j := range t.Joins {
		if !j.Left && u.restricts(j) {
			u.Table(j)
		}
		u.inner(j)
	}
}

// restricts reports whether an inner join can leave rows out or bring more:
// every id kept in a link is that of an asset, so joining the asset alone does
// not.
func (u *usage) restricts(t *query.Table) bool {
	if t.Kind != query.Asset || t.Typed || t.When.Mode == query.Version || !isID(t.Key) {
		return true
	}
	for _, x := range t.On {
		_, isVisible := x.(query.Visible)
		_, isNotHidden := x.(query.NotHidden)
		if !isVisible && !isNotHidden || isVisible && !u.visibility.All || isNotHidden && !u.visibility.Hidden.none(t) {
			return true
		}
	}
	return false
}

// isID reports whether a key compares with a column that always has an id.
func isID(key query.Expr) bool {
	c, _ := key.(query.Compare)
	r, ok := c.R.(query.ColumnOf)
	return ok && !r.T.Left && (r.T.Kind != query.Asset || r.Name == "id")
}

// Table marks a table, the tables it is joined through, and what its conditions
// read.
func (u *usage) Table(t *query.Table) {
	if t == nil || u.read[t] {
		return
	}
	u.read[t] = true
	u.Table(u.parent[t])
	u.conditions(t)
}

func (u *usage) conditions(t *query.Table) {
	if t.Key != nil {
		u.Expr(t.Key)
	}
	u.exprs(t.On)
	u.Table(t.When.Base)
}

func (u *usage) clauses(cells, where []query.Expr, order []query.Order) {
	u.exprs(cells)
	u.exprs(where)
	for _, o := range order {
		u.Expr(o.X)
	}
}

func (u *usage) exprs(list []query.Expr) {
	for _, x := range list {
		u.Expr(x)
	}
}

// Expr marks the tables that an expression reads, unless this request is not
// to write it.
func (u *usage) Expr(x query.Expr) {
	switch x := x.(type) {
	case query.InLookup:
		if x.By.Known {
			u.Expr(x.X)
		} else {
			u.Expr(x.Else)
		}
		return
	case query.Visible:
		if u.visibility.All {
			return
		}
	case query.NotHidden:
		if u.visibility.Hidden.none(x.T) {
			return
		}
	}
	query.Walk(x, u)
}

// Select marks what a statement inside this one reads of it.
func (u *usage) Select(s *query.Select) {
	u.clauses(s.Cells, s.Where, s.Order)
	u.inside(s.From)
}

func (u *usage) inside(t *query.Table) {
	u.conditions(t)
	for _, j := range t.Joins {
		u.inside(j)
	}
}

// pairs writes the parents of a branch as a table, padded with parents that
// are none, so that few texts exist.
func (e *emitter) pairs() {
	e.put("(SELECT ")
	for i := range db.InSize(len(e.seeds)) {
		var id, moment any
		if i < len(e.seeds) {
			id, moment = e.seeds[i], e.moments[i]
		}
		if i > 0 {
			e.put(" UNION ALL SELECT ")
		}
		e.integer(id)
		if i == 0 {
			e.put(" AS id")
		}
		e.put(", ")
		e.integer(moment)
		if i == 0 {
			e.put(" AS moment")
		}
	}
	e.put(")")
}

// integer writes an argument that makes a column of a table: MySQL takes the
// column for text otherwise, compares it with numbers as doubles, and finds no
// key for it.
func (e *emitter) integer(v any) {
	e.put("CAST(")
	e.arg(v)
	e.put(" AS SIGNED)")
}

// tree writes the pairs (root, id) of a hierarchy: id is reached from root by
// one or more steps, or is root itself where the closure says so. They are
// followed from the statement's block of parents when it has one and the
// hierarchy hangs on them; back from the only ids that matter where there are
// such; else from everywhere. For rows of many moments each pair says from when
// to when it held: as long as all steps of its way did.
func (e *emitter) tree(t *query.Table) {
	g := e.edge(t)
	near, far, back := g.start, g.next, len(t.Ends) > 0
	limit := func(column string) {
		if back {
			e.put(" AND ", column, " IN ")
			e.ids(t.Ends)
		} else {
			e.seed(e.seeded(t), column)
		}
	}
	first := near
	if back {
		first = far
	}
	e.put("(WITH RECURSIVE r(", g.columns, ") AS (SELECT ")
	if t.Tree.Me {
		e.put("a.id, a.id", g.always, " FROM asset a WHERE a.type IN ", codes(t.Tree.Up.Declared))
		limit("a.id")
		e.put(" UNION SELECT ")
	}
	e.put(near, ", ", far, g.span, " FROM ", g.from, " WHERE ")
	e.treeEdges(g)
	limit(first)
	if t.Tree.Transitive {
		if back {
			e.put(" UNION SELECT ", near, ", r.id", g.both, " FROM r JOIN ", g.from, " ON ", far, " = r.root")
		} else {
			e.put(" UNION SELECT r.root, ", far, g.both, " FROM r JOIN ", g.from, " ON ", near, " = r.id")
		}
		e.put(g.meets, " WHERE ")
		e.treeEdges(g)
	}
	e.put(") SELECT ", g.columns, " FROM r)")
}

// edge is how a hierarchy's tables give the pairs of start and next, one step
// apart, with the moments they hold at or the span of time they held.
type edge struct {
	from        string
	start, next string
	conds, when string
	moment      []any

	columns string // of a pair
	always  string // the span of an asset itself
	span    string // that of an edge
	both    string // the part of it that falls into the way r
	meets   string // the condition that there is such a part
}

func (e *emitter) edge(t *query.Table) edge {
	up := t.Tree.Up
	g := edge{columns: "root, id"}
	since := "e.moment"
	if up.Place.Kind == meta.InLinks {
		since = "e.since_moment"
		g.from, g.start, g.next = "asset_link e", "e.from_id", "e.to_id"
		g.conds = "e.relation = " + strconv.Itoa(up.Place.Code)
		g.when = " AND e.until_moment = " + forever
	} else {
		g.from, g.start, g.next = "asset e", "e.id", "e."+up.Place.Column
		g.conds = "e." + up.Place.Column + " IS NOT NULL AND e.type IN " + codes(up.Declared)
	}
	if t.Tree.Down {
		g.start, g.next = g.next, g.start
	}
	if t.When.Mode == query.Now {
		return g
	}
	if up.Place.Kind != meta.InLinks {
		g.from = "asset_version e"
	}
	if t.When.Mode == query.At {
		g.when = " AND " + since + " <= ? AND e.until_moment > ?"
		g.moment = []any{t.When.Moment, t.When.Moment}
		return g
	}
	g.when = ""
	g.columns += ", since_moment, until_moment"
	g.always = ", a.created_moment, " + forever
	g.span = ", " + since + ", e.until_moment"
	g.both = ", CASE WHEN r.since_moment > " + since + " THEN r.since_moment ELSE " + since +
		" END, CASE WHEN r.until_moment < e.until_moment THEN r.until_moment ELSE e.until_moment END"
	g.meets = " AND " + since + " < r.until_moment AND e.until_moment > r.since_moment"
	return g
}

func (e *emitter) treeEdges(g edge) {
	e.put(g.conds, g.when)
	e.args = append(e.args, g.moment...)
}

// codes lists the codes of the types that share a hierarchy.
func codes(t *meta.Type) string { return codesOf(t.Concrete) }

func codesOf(types []*meta.Type) string {
	parts := make([]string, len(types))
	for i, c := range types {
		parts[i] = strconv.Itoa(c.Code)
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// seeded reports whether a hierarchy starts from the parents whose ids are
// known.
func (e *emitter) seeded(t *query.Table) bool {
	root, ok := e.root.(query.ColumnOf)
	if !ok || e.seeds == nil {
		return false
	}
	if root.T == t {
		return true
	}
	key, ok := t.Key.(query.Compare)
	if !ok {
		return false
	}
	c, ok := key.R.(query.ColumnOf)
	return ok && c == root
}

func (e *emitter) seed(seeded bool, column string) {
	if seeded {
		e.put(" AND ", column, " IN ")
		e.ids(e.seeds)
	}
}
