package sqlgen

import (
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/store/db"
)

// pairs writes the parents of a branch as a table. The table is padded with nulls, so that there
// are few different statement texts.
func (e *emitter) pairs() {
	before, id, moment := "(SELECT ", " AS id", " AS moment"
	for i := range db.InSize(len(e.origin.ids)) {
		var parent, at query.Arg
		if i < len(e.origin.ids) {
			parent.V, at.V = e.origin.ids[i], e.origin.moments[i]
		}
		e.write(before, asInteger, parent, signed, id, ", ", asInteger, at, signed, moment)
		before, id, moment = " UNION ALL SELECT ", "", ""
	}
	e.write(")")
}

// asInteger and signed enclose an argument that becomes a column of a table. Without them, MySQL
// makes the argument a text column, compares this column with numbers as doubles, and uses no index
// for it.
const asInteger, signed = "CAST(", " AS SIGNED)"

// tree writes the pairs (root, id) of a hierarchy. id is reached from root in one or more steps. id
// may also be root itself, if t.Tree.Me is true.
//
// With t.Ends, the recursion starts at these ids and follows the hierarchy backwards. Otherwise it
// starts at the origin of the statement if the hierarchy is joined to the origin, or else at all
// assets.
//
// If rows have moments of their own, each pair has the span of time in which all its steps held.
//
// A recursion that starts at a common table becomes a common table, too, because MariaDB cannot
// refer to a common table from inside a nested WITH clause. A recursion that starts at all assets
// inside an aggregate function also becomes a common table. There, MariaDB needs twice the time for
// each nested WITH clause.
func (e *emitter) tree(t *query.Table) {
	g := e.edge(t)
	switch {
	case e.origin.isCommonFor(t):
		e.commonTree(t, g)
	case e.isInAggregate() && e.startsOf(t) == nil:
		in := e.forCommon()
		in.localTree(t, g)
		e.write(e.reads(e.common.add(in, g.columns)))
	default:
		e.write("(")
		e.localTree(t, g)
		e.write(")")
	}
}

// localTree writes a SELECT of the pairs of a hierarchy with a WITH clause of its own.
func (e *emitter) localTree(t *query.Table, g edge) {
	e.write("WITH RECURSIVE r(", g.columns, ") AS (")
	e.recursion(t, g, "r")
	e.write(") SELECT ", g.columns, " FROM r")
}

// commonTree writes the name of the common table with the pairs of a hierarchy that starts at
// a common table.
func (e *emitter) commonTree(t *query.Table, g edge) {
	from := treeFrom{t, e.origin.common}
	name, ok := e.common.trees[from]
	if !ok {
		name = e.common.newName()
		in := e.forCommon()
		in.origin = e.origin
		in.recursion(t, g, name)
		e.common.addRecursive(in, name, g.columns)
		e.common.trees[from] = name
	}
	e.write(e.reads(name))
}

// recursion writes the pairs of a hierarchy as a table that reads itself by name.
func (e *emitter) recursion(t *query.Table, g edge, name string) {
	starts := e.startsOf(t)
	limit := func(column string) {
		if starts != nil {
			e.write(" AND ", column)
			e.write(starts...)
		}
	}
	from, step := g.start, []any{" UNION SELECT r.root, ", g.next, g.both, " FROM ", name, " r JOIN ", g.from, " ON ", g.start, " = r.id"}
	if len(t.Ends) > 0 {
		from, step = g.next, []any{" UNION SELECT ", g.start, ", r.id", g.both, " FROM ", name, " r JOIN ", g.from, " ON ", g.next, " = r.root"}
	}
	e.size += 3 // the tables of the parts of the recursion
	e.write("SELECT ")
	if t.Tree.Me {
		e.write("a.id, a.id", g.always, " FROM asset a WHERE a.type IN ", codesOf(t.Tree.Up.Declared.Concrete))
		limit("a.id")
	}
	if t.Tree.Me && !t.Tree.Transitive {
		e.write(" UNION SELECT ")
	}
	if !t.Tree.Me || !t.Tree.Transitive { // otherwise the recursion includes the first step
		e.write(g.start, ", ", g.next, g.span, " FROM ", g.from, " WHERE ")
		e.edgeConds(g)
		limit(from)
	}
	if t.Tree.Transitive {
		e.write(step...)
		e.write(g.overlap, " WHERE ")
		// A step must find its assets by their reference to the assets before. Without the prefix SQLite reads all
		// assets of the types: most of them refer to none, so it expects many that refer to the same one.
		g.conds = strings.Replace(g.conds, "e.type IN", e.Dialect.Unkeyed+"e.type IN", 1)
		e.edgeConds(g)
	}
}

// edge is one step of a hierarchy as SQL. It has the table of the pairs (start, next), and the
// moment or the span of time for which they are read.
type edge struct {
	from        string
	start, next string
	conds, when string
	moment      []any

	columns string // the columns of a pair
	always  string // the span of the pair of an asset with itself
	span    string // the span of an edge
	both    string // the intersection of the spans of an edge and of the pair r
	overlap string // the condition that this intersection is not empty
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
		g.conds = "e." + up.Place.Column + " IS NOT NULL AND e.type IN " + codesOf(up.Declared.Concrete)
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
	g.overlap = " AND " + since + " < r.until_moment AND e.until_moment > r.since_moment"
	return g
}

func (e *emitter) edgeConds(g edge) {
	e.write(g.conds, g.when)
	e.args = append(e.args, g.moment...)
}

func codesOf(types []*meta.Type) string {
	parts := make([]string, len(types))
	for i, c := range types {
		parts[i] = strconv.Itoa(c.Code)
	}
	return "(" + strings.Join(parts, ", ") + ")"
}
