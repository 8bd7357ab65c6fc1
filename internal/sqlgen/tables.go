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
	u := usage{sight: e.Sight, read: map[*query.Table]bool{}, parent: map[*query.Table]*query.Table{}}
	u.tree(s.From)
	u.exprs(cells)
	u.exprs(where)
	for _, o := range order {
		u.expr(o.X)
	}
	u.table(s.From)
	u.inner(s.From)
	return u.read
}

// usage collects which tables are read.
type usage struct {
	sight  Sight
	read   map[*query.Table]bool
	parent map[*query.Table]*query.Table
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
			u.table(j)
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
		if _, isVisible := x.(query.Visible); !isVisible || !u.sight.All {
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

// table marks a table, what leads to it, and what its conditions read.
func (u *usage) table(t *query.Table) {
	if t == nil || u.read[t] {
		return
	}
	u.read[t] = true
	u.table(u.parent[t])
	if t.Key != nil {
		u.expr(t.Key)
	}
	u.exprs(t.On)
	if t.When.Base != nil {
		u.table(t.When.Base)
	}
}

func (u *usage) exprs(list []query.Expr) {
	for _, x := range list {
		u.expr(x)
	}
}

func (u *usage) expr(x query.Expr) {
	switch x := x.(type) {
	case query.ColumnOf:
		u.table(x.T)
	case query.JSON:
		u.table(x.T)
	case query.Raw:
		u.table(x.T)
	case query.TypeOrder:
		u.table(x.T)
	case query.Looked:
		if x.By.Known {
			u.expr(x.X)
		} else {
			u.expr(x.Else)
		}
	case query.Visible:
		if !u.sight.All {
			u.table(x.T)
		}
	case query.Minus:
		u.expr(x.L)
		u.expr(x.R)
	case query.Compare:
		u.expr(x.L)
		u.expr(x.R)
	case query.In:
		u.expr(x.X)
		u.exprs(x.List)
	case query.IsNull:
		u.expr(x.X)
	case query.LikeText:
		u.expr(x.X)
	case query.All:
		u.exprs(x)
	case query.Any:
		u.exprs(x)
	case query.Not:
		u.expr(x.X)
	case query.Truth:
		u.expr(x.X)
	case query.Or:
		u.expr(x.X)
		u.expr(x.Else)
	case query.Days:
		u.expr(x.From)
		u.expr(x.To)
	case query.Number:
		u.expr(x.X)
	case query.Given:
		u.expr(x.If)
		u.expr(x.X)
	case query.Folded:
		u.expr(x.X)
	case query.Func:
		u.expr(x.X)
	case query.Exists:
		u.sub(x.S)
	case query.Scalar:
		u.sub(x.S)
	case block:
		u.expr(x.Expr)
	}
}

// sub marks what a statement inside this one reads of it.
func (u *usage) sub(s *query.Select) {
	u.exprs(s.Cells)
	u.exprs(s.Where)
	for _, o := range s.Order {
		u.expr(o.X)
	}
	u.inside(s.From)
}

func (u *usage) inside(t *query.Table) {
	if t.Key != nil {
		u.expr(t.Key)
	}
	u.exprs(t.On)
	if t.When.Base != nil {
		u.table(t.When.Base)
	}
	for _, j := range t.Joins {
		u.inside(j)
	}
}

// tree writes the pairs (root, id) of a hierarchy: id is reached from root by
// one or more steps, or is root itself where the closure says so. The pairs
// start from the statement's block of parents when it has one and the
// hierarchy hangs on them.
func (e *emitter) tree(t *query.Table) {
	edge := e.edge(t)
	if t.When.Mode == query.Each {
		e.treeOfVersions(t, edge)
		return
	}
	if len(t.Ends) > 0 {
		e.treeBack(t, edge)
		return
	}
	e.put("(WITH RECURSIVE r(root, id) AS (SELECT ")
	start, next := edge.child, edge.parent
	if t.Tree.Down {
		start, next = next, start
	}
	seeded := e.seeded(t)
	if t.Tree.Me {
		e.put("a.id, a.id FROM ", edge.assets, " WHERE ")
		e.treeTypes(t.Tree.Up)
		e.seed(seeded, "a.id")
		e.put(" UNION SELECT ")
	}
	e.put(start, ", ", next, " FROM ", edge.from, " WHERE ")
	e.treeEdges(edge)
	e.seed(seeded, start)
	if t.Tree.Transitive {
		e.put(" UNION SELECT r.root, ", next, " FROM r JOIN ", edge.from, " ON ", start, " = r.id WHERE ")
		e.treeEdges(edge)
	}
	e.put(") SELECT root, id FROM r)")
}

// treeBack writes the pairs (root, id) whose id is one of few, walking from
// those to the roots.
func (e *emitter) treeBack(t *query.Table, g edge) {
	start, next := g.child, g.parent
	if t.Tree.Down {
		start, next = next, start
	}
	e.put("(WITH RECURSIVE r(root, id) AS (SELECT ")
	if t.Tree.Me {
		e.put("a.id, a.id FROM ", g.assets, " WHERE ")
		e.treeTypes(t.Tree.Up)
		e.put(" AND a.id IN ")
		e.ids(t.Ends)
		e.put(" UNION SELECT ")
	}
	e.put(start, ", ", next, " FROM ", g.from, " WHERE ")
	e.treeEdges(g)
	e.put(" AND ", next, " IN ")
	e.ids(t.Ends)
	if t.Tree.Transitive {
		e.put(" UNION SELECT ", start, ", r.id FROM r JOIN ", g.from, " ON ", next, " = r.root WHERE ")
		e.treeEdges(g)
	}
	e.put(") SELECT root, id FROM r)")
}

// treeOfVersions writes the triples (root, moment, id): what is reached from
// the version of root that was made at a moment, as things were then.
func (e *emitter) treeOfVersions(t *query.Table, g edge) {
	start, next := g.child, g.parent
	if t.Tree.Down {
		start, next = next, start
	}
	seeded := e.seeded(t)
	e.put("(WITH RECURSIVE r(root, moment, id) AS (SELECT ")
	if t.Tree.Me {
		e.put("a.id, a.moment, a.id FROM asset_version a WHERE ")
		e.treeTypes(t.Tree.Up)
		e.seed(seeded, "a.id")
		e.put(" UNION SELECT ")
	}
	e.put("a.id, a.moment, ", next, " FROM asset_version a JOIN ", g.from, " ON ", start, " = a.id AND ", g.during("a.moment"), " WHERE ", g.conds, " AND ")
	e.treeTypes(t.Tree.Up)
	e.seed(seeded, "a.id")
	if t.Tree.Transitive {
		e.put(" UNION SELECT r.root, r.moment, ", next, " FROM r JOIN ", g.from, " ON ", start, " = r.id AND ", g.during("r.moment"), " WHERE ", g.conds)
	}
	e.put(") SELECT root, moment, id FROM r)")
}

// during is the condition that an edge was there at a moment.
func (g edge) during(moment string) string {
	return g.since + " <= " + moment + " AND e.until_moment > " + moment
}

// edge is how a hierarchy's tables give the pairs of child and parent.
type edge struct {
	from, assets  string
	child, parent string
	conds, when   string
	since         string // the column with the moment an edge began
	moment        []any
}

func (e *emitter) edge(t *query.Table) edge {
	up := t.Tree.Up
	if up.Place.Kind == meta.InLinks {
		g := edge{from: "asset_link e", assets: "asset a", child: "e.from_id", parent: "e.to_id"}
		g.since = "e.since_moment"
		g.conds = "e.relation = " + strconv.Itoa(up.Place.Code)
		g.when = " AND e.until_moment = " + forever
		if t.When.Mode == query.At {
			g.when = " AND e.since_moment <= ? AND e.until_moment > ?"
			g.moment = []any{t.When.Moment, t.When.Moment}
		}
		return g
	}
	g := edge{from: "asset e", assets: "asset a", child: "e.id", parent: "e." + up.Place.Column}
	g.conds = "e." + up.Place.Column + " IS NOT NULL AND e.type IN " + codes(up.Declared)
	g.since = "e.moment"
	if t.When.Mode == query.Each {
		g.from = "asset_version e"
	}
	if t.When.Mode == query.At {
		g.from = "asset_version e"
		g.when = " AND e.moment <= ? AND e.until_moment > ?"
		g.moment = []any{t.When.Moment, t.When.Moment}
	}
	return g
}

func (e *emitter) treeEdges(g edge) {
	e.put(g.conds, g.when)
	e.args = append(e.args, g.moment...)
}

func (e *emitter) treeTypes(up *meta.Attr) {
	e.put("a.type IN ", codes(up.Declared))
}

// codes lists the codes of the types that share a hierarchy.
func codes(t *meta.Type) string {
	parts := make([]string, len(t.Concrete))
	for i, c := range t.Concrete {
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
