package sqlgen

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/store/db"
)

// emitter writes one statement, or one common table, from left to right. So arguments come in the
// order of their placeholders. Each part of the struct has one task.
type emitter struct {
	Writer
	sqlText           // the text that is written so far
	aliases           // the aliases of the tables that are read
	frame    *frame   // the SELECT that is being written
	origin   origin   // the rows that hierarchies start from
	page     pageRead // how the database finds a page
	replaced replaced // parts of the plan that are written in another form

	total    *Statement // statement of the total, written before the cells of the outermost SELECT; nil: no total
	joinable int        // number of conditions so far that a server may turn into joins

	deps   *dependencies // which tables an expression reads
	common *common       // the common tables, which all emitters of a statement share
}

func (w Writer) emitter() *emitter {
	return &emitter{
		Writer: w, aliases: newAliases(), replaced: newReplaced(), deps: newDependencies(w.Visibility), common: newCommon(),
	}
}

// sqlText is SQL text with the arguments of its placeholders.
type sqlText struct {
	b    strings.Builder
	args []any
}

func (t *sqlText) arg(v any) {
	t.b.WriteByte('?')
	t.args = append(t.args, v)
}

// aliases has the tables of a statement, and counts them.
type aliases struct {
	of      map[*query.Table]int
	size    int      // number of tables that are read; each reference to a table of WITH counts as one more table
	next    int      // the number of the next alias
	commons []string // the common tables that are read
}

func newAliases() aliases { return aliases{of: map[*query.Table]int{}} }

// name gives aliases to a table and to the used tables joined to it, in tree order.
func (a *aliases) name(t *query.Table, used map[*query.Table]bool) {
	a.of[t] = a.next
	a.next++
	a.size++
	for _, j := range t.Joins {
		if used[j] {
			a.name(j, used)
		}
	}
}

func (a *aliases) aliasOf(t *query.Table) string {
	n, ok := a.of[t]
	if !ok {
		panic(fmt.Sprintf("sqlgen: a %d table is read before it is named", t.Kind))
	}
	return "t" + strconv.Itoa(n)
}

// pageRead is how the database finds the rows of a page.
type pageRead struct {
	stops  bool         // true: the database stops when the page is full, because it need not sort
	tests  bool         // true: the condition that is written next is tested for each row
	ranked *query.Table // the table whose rank alone sorts the page; nil: other columns sort it, too
}

// replaced has the parts of a plan that a statement writes in another form than the plan.
type replaced struct {
	columns map[query.ColumnOf]string     // by column of an outer row: its name in this statement
	ids     map[*query.Table]fixed        // by joined table: its id, which is an additional column of the current row
	keys    map[*query.Table]*query.Table // by table that is read without its Key: the outer table in this Key
	plain   *plain                        // if not nil, only plain conditions are written
}

func newReplaced() replaced {
	return replaced{ids: map[*query.Table]fixed{}, keys: map[*query.Table]*query.Table{}}
}

// unkeyed is a condition that SQLite must not use to choose an index. For a page by rank, SQLite
// would use the index of the type and sort all rows of the type. The index of the rank includes the
// type. So it is the only index that a page needs, even for a rare type.
type unkeyed struct{ query.Expr }

// block is the condition that an expression is one of a block of ids.
type block struct {
	query.Expr
	ids     []int64
	version *query.Table // table of the versions; nil if rows have no moments of their own
	moments []int64      // of the ids
}

// test is a condition that a server must not turn into a join.
type test struct{ query.Expr }

// fixed is SQL text as an expression.
type fixed struct {
	query.Expr
	text string
}

// done returns the statement with its common tables.
func (e *emitter) done() Statement {
	return e.common.before(Statement{e.b.String(), e.args}, e.commons)
}

// statement writes one SELECT, outermost or nested.
func (e *emitter) statement(s *query.Select, cells, where []query.Expr, order []query.Order) {
	e.enter(s.From, where)
	e.write("SELECT ")
	e.writeTotal()
	e.selected(s.From, cells, where, order)
	e.leave()
}

// writeTotal writes a sub-select with the number of all rows, if the outermost SELECT has a total.
func (e *emitter) writeTotal() {
	if t := e.total; t != nil {
		e.total = nil
		e.write("(", t.SQL, "), ")
		e.args = append(e.args, t.Args...)
	}
}

// selected writes a SELECT without the word SELECT: its cells and all clauses after them.
func (e *emitter) selected(from *query.Table, cells, where []query.Expr, order []query.Order) {
	used := e.used(from, cells, where, order)
	e.name(from, used)
	for i, x := range cells {
		if i > 0 {
			e.write(", ")
		}
		e.frame.cell = i
		e.write(x)
	}
	e.frame.cell = noCell
	e.write(" FROM ")
	e.row(from, used)
	left := e.joins(from, used)
	e.joinParts()
	e.where(from, append(left, where...))
	e.order(order)
}

func (e *emitter) order(order []query.Order) {
	sep := " ORDER BY "
	for _, o := range order {
		if e.write(sep, o.X); o.Desc {
			e.write(" DESC")
		}
		sep = ", "
	}
}

func (e *emitter) separated(list []query.Expr, sep string) {
	for i, x := range list {
		if i > 0 {
			e.write(sep)
		}
		e.expr(x)
	}
}

func (e *emitter) limit(p *query.Page) {
	if p == nil {
		return
	}
	size := p.Size
	if p.After != nil {
		size++ // one more row shows that there is a next page
	}
	e.write(" LIMIT ", query.Arg{V: size}, " OFFSET ", query.Arg{V: p.Start})
}

// table writes a table and its alias.
func (e *emitter) table(t *query.Table) {
	switch {
	case t.Kind == query.Tree:
		e.tree(t)
	case t.Kind == query.Pairs:
		e.pairs()
	case t.Kind == query.Asset && t.When.Mode != query.Now:
		e.write("asset_version")
	default:
		e.write(tableNames[t.Kind])
	}
	e.write(" ", e.aliasOf(t))
}

var tableNames = map[query.TableKind]string{
	query.Asset: "asset", query.Link: "asset_link", query.Values: "asset_value",
	query.ScopeTree: "scope_closure", query.Audit: "audit",
	query.Grants: "scope_member",
}

// joins writes the joins of a table. It returns the conditions of the joins that belong in the
// WHERE.
func (e *emitter) joins(t *query.Table, used map[*query.Table]bool) (left []query.Expr) {
	for _, j := range t.Joins {
		if !used[j] {
			continue
		}
		on := e.conditions(j)
		if id, ok := e.replaced.ids[j]; ok {
			on = append([]query.Expr{query.Compare{Op: "=", L: query.ColumnOf{T: j, Name: "id"}, R: id}}, e.time(j)...)
		}
		if j.Left {
			e.write(" LEFT")
		}
		e.write(" JOIN ")
		if e.Dialect.QueriesInON {
			e.table(j)
		} else {
			var asking []query.Expr
			on, asking = e.splitQueries(on)
			left = append(left, e.joinRestricted(j, used, &on, asking)...)
		}
		e.write(" ON ")
		if on = e.flatten(on); j.Left && e.Dialect.TestsInON {
			e.keepTests(on)
		}
		e.separated(on, " AND ")
		left = append(left, e.joins(j, used)...)
	}
	return left
}

func (e *emitter) where(from *query.Table, where []query.Expr) {
	all := e.flatten(append(e.conditions(from), where...))
	if len(all) > 0 {
		e.write(" WHERE ")
		e.conds(all)
	}
}

// keepTests adds "= 1" to the conditions that may have a sub-select, so that the server does not
// turn them into joins. A condition that is a comparison already stays unchanged. The server never
// turns a comparison into a join, and may use an index for it.
func (e *emitter) keepTests(on []query.Expr) {
	for i, x := range on {
		if _, compares := x.(query.Compare); !compares && !e.asksNothing(x) {
			on[i] = test{x}
		}
	}
}

// flatten expands nested conjunctions and leaves out conditions that always hold.
func (e *emitter) flatten(list []query.Expr) []query.Expr {
	var flat []query.Expr
	for _, x := range list {
		if g, ok := x.(query.Granted); ok {
			x = e.Visibility.decided(g.X)
		}
		if all, ok := x.(query.All); ok {
			flat = append(flat, e.flatten(all)...)
		} else if !e.Visibility.alwaysHolds(x) {
			flat = append(flat, x)
		}
	}
	return flat
}

func (e *emitter) conds(list []query.Expr) {
	e.separated(e.flatten(list), " AND ")
}

// conditions returns the conditions of a table itself: its Key, its types, its time and its other
// conditions.
func (e *emitter) conditions(t *query.Table) []query.Expr {
	var all []query.Expr
	key, on := t.Key, t.On
	if row, ok := e.replaced.keys[t]; ok {
		key, on = nil, ofTypes(on, row)
	}
	if p := e.replaced.plain; p != nil && p.own[t] {
		key, on = p.key(t), p.only(e.flatten(on))
	}
	if key != nil {
		all = append(all, key)
	}
	switch {
	case t.Typed && t == e.page.ranked:
		all = append(all, unkeyed{Expr: typeTest(t)})
	case t.Typed:
		all = append(all, typeTest(t))
	}
	all = append(all, e.time(t)...)
	return append(all, on...)
}

func typeTest(t *query.Table) query.Expr {
	x := query.ColumnOf{T: t, Name: "type"}
	codes := query.TypeCodes(t.Of)
	if len(codes) == 1 {
		return query.Compare{Op: "=", L: x, R: codes[0]}
	}
	return query.In{X: x, List: codes}
}

// time returns the condition that a row of t holds at the time at which t is read (t.When).
func (e *emitter) time(t *query.Table) []query.Expr {
	if t.Kind == query.Audit || t.Kind == query.Pairs || t.Kind == query.Tree && t.When.Mode != query.Each {
		return nil
	}
	since, until := query.ColumnOf{T: t, Name: "since_moment"}, query.ColumnOf{T: t, Name: "until_moment"}
	if t.Kind == query.Asset {
		since.Name = "moment"
	}
	var moment query.Expr
	switch t.When.Mode {
	case query.Version:
		if e.Horizon == 0 || t.Gone || t.Kind != query.Asset {
			return nil
		}
		return []query.Expr{query.Compare{Op: ">", L: until, R: query.Arg{V: e.Horizon}}}
	case query.Now:
		if t.Kind == query.Asset {
			return nil
		}
		return []query.Expr{query.Compare{Op: "=", L: until, R: query.Num{N: db.Forever}}}
	case query.At:
		moment = query.Arg{V: t.When.Moment}
	case query.Each:
		moment = e.sinceHorizon(query.ColumnOf{T: t.When.Base, Name: "moment"})
	}
	return []query.Expr{query.Compare{Op: "<=", L: since, R: moment}, query.Compare{Op: ">", L: until, R: moment}}
}

// notBefore is a moment with a lower limit: the later of the moments Expr and least.
type notBefore struct {
	query.Expr
	least int64
}

// sinceHorizon returns the moment at which the data around a version is read: the moment of
// the version, or the horizon if that is later.
func (e *emitter) sinceHorizon(moment query.Expr) query.Expr {
	if e.Horizon == 0 {
		return moment
	}
	return notBefore{moment, e.Horizon}
}
