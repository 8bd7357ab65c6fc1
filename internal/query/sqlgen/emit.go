package sqlgen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/store/db"
)

// Statement is SQL text with the arguments of its placeholders, in order.
type Statement struct {
	SQL  string
	Args []any
}

// Writer writes the statements of plans for one dialect and one member.
type Writer struct {
	Dialect    *db.Dialect
	Visibility Visibility
	Horizon    int64 // history is kept from this moment on; 0: all history is kept
}

// Page writes the statement for the rows of a plan with all their cells, limited to its page.
// With total, the number of all rows comes before the cells.
func (w Writer) Page(p *query.Plan, total bool) Statement {
	e := w.emitterOfPage(p)
	e.total = w.totalOf(p, total)
	e.statement(&p.Select, p.Cells, w.ofPage(p), p.Order)
	e.limit(p.Page)
	if len(e.common.cells) > 0 && p.Page != nil {
		// common tables are then evaluated for the rows of the page only
		return w.IDsFirst(p, total)
	}
	return e.done()
}

// totalOf returns the statement of the total that comes before the cells; nil without total.
func (w Writer) totalOf(p *query.Plan, total bool) *Statement {
	if !total {
		return nil
	}
	st := w.Total(p)
	return &st
}

// IDsFirst writes the statement of Page in another form. The database finds and sorts only
// ids, and reads whole rows only for those of the page.
func (w Writer) IDsFirst(p *query.Plan, total bool) Statement {
	page := w.pageIDs(p)
	e := w.emitterOf(p)
	e.common.follow(page)
	used := e.used(p.From, p.Cells, nil, p.Order)
	e.name(p.From, used)
	e.enter(p.From, []query.Expr{inSet{query.ColumnOf{T: p.From, Name: "id"}, pageName}})
	e.total = w.totalOf(p, total)
	e.write("SELECT ")
	e.writeTotal()
	e.separated(p.Cells, ", ")
	e.write(" FROM ", e.reads(pageName), " JOIN ")
	e.row(p.From, used)
	e.write(" ON ", e.aliasOf(p.From), ".id = ", pageName, ".id")
	for _, x := range e.time(p.From) {
		e.write(" AND ", x)
	}
	if left := e.joins(p.From, used); len(left) > 0 {
		e.write(" WHERE ")
		e.conds(left)
	}
	e.order(p.Order)
	e.leave()
	return e.done()
}

// pageName is the common table of the ids of a page.
const pageName = "p"

// Lookup writes the statement of a lookup. It reads one id more than a lookup may find.
func (w Writer) Lookup(l *query.Lookup) Statement {
	e := w.emitter()
	e.statement(&l.Select, l.Cells, l.Where, nil)
	e.write(" LIMIT ", query.Arg{V: query.MaxLookup + 1})
	return e.done()
}

// IDs writes the statement for the id, type and moment of the rows of a plan, in order and
// limited to its page. more are the indexes of further cells.
func (w Writer) IDs(p *query.Plan, more ...int) Statement {
	e := w.emitterOfPage(p)
	cells := slices.Clone(p.Cells[:query.CellMoment+1])
	for _, i := range more {
		cells = append(cells, p.Cells[i])
	}
	e.statement(&p.Select, cells, w.ofPage(p), p.Order)
	e.limit(p.Page)
	return e.done()
}

// Total writes the statement that counts the rows of a plan on all pages.
func (w Writer) Total(p *query.Plan) Statement {
	e := w.emitterOf(p)
	e.statement(&p.Select, []query.Expr{query.Func{Name: "COUNT"}}, p.Where, nil)
	return e.done()
}

// Block writes the statement for the rows with some ids, at most db.MaxIn, without the
// condition of the plan. moments are those of the ids, if every row has its own moment.
func (w Writer) Block(s *query.Select, ids, moments []int64) Statement {
	e := w.emitter()
	e.seeds, e.root = ids, s.Parent
	e.statement(s, s.Cells, e.among(s, nil, ids, moments), nil)
	return e.done()
}

// Together writes one statement for the row of a plan about one asset and the rows of its
// branches. Each row begins with a number: 0 for the asset, 1 for the first branch. It has the
// cells of all of them; those of the others are NULL.
func (w Writer) Together(p *query.Plan) Statement {
	e := w.emitterOf(p)
	width := len(p.Cells)
	for _, b := range p.Branches {
		width += len(b.Cells)
	}
	cells := func(number, before int, own []query.Expr) []query.Expr {
		list := []query.Expr{query.Num{N: int64(number)}}
		list = append(list, slices.Repeat([]query.Expr{query.Null{}}, before)...)
		list = append(list, own...)
		return append(list, slices.Repeat([]query.Expr{query.Null{}}, width-before-len(own))...)
	}
	e.statement(&p.Select, cells(0, 0, p.Cells), p.Where, nil)
	before := len(p.Cells)
	for i, b := range p.Branches {
		in := w.emitter()
		in.common, in.one, in.root = e.common, e.one, b.Parent
		where := append([]query.Expr{query.Compare{Op: "=", L: b.Parent, R: e.one}}, b.Where...)
		in.statement(&b.Select, cells(i+1, before, b.Cells), where, nil)
		e.b.WriteString(" UNION ALL " + in.b.String())
		e.args = append(e.args, in.args...)
		before += len(b.Cells)
	}
	return e.done()
}

// Children writes the statement of a branch for a block of parents: the rows that satisfy its
// condition, in its order. moments are those of the parents, if these have moments.
func (w Writer) Children(b *query.Branch, ids, moments []int64) Statement {
	e := w.emitter()
	e.seeds, e.root = ids, b.Parent
	where := b.Where
	if e.moments = moments; b.From.Kind != query.Pairs {
		where = e.among(&b.Select, where, ids, moments)
	}
	e.statement(&b.Select, b.Cells, where, b.Order)
	return e.done()
}

// Among writes IDs restricted to some versions.
func (w Writer) Among(p *query.Plan, ids, moments []int64) Statement {
	e := w.emitter()
	e.seeds, e.root = ids, p.Parent
	e.statement(&p.Select, p.Cells[:query.CellMoment+1], e.among(&p.Select, p.Where, ids, moments), nil)
	return e.done()
}

// among adds a condition to where: the row, or the parent of a branch's row, is one of a
// block.
func (e *emitter) among(s *query.Select, where []query.Expr, ids, moments []int64) []query.Expr {
	if s.Moment != nil {
		version := s.Moment.(query.ColumnOf).T
		return append([]query.Expr{block{s.Parent, ids, version, moments}}, where...)
	}
	return append([]query.Expr{block{Expr: s.Parent, ids: ids}}, where...)
}

func (w Writer) emitter() *emitter {
	return &emitter{Writer: w, alias: map[*query.Table]int{}, keyless: map[*query.Table]*query.Table{}, idOf: map[*query.Table]fixed{}, readBy: map[*query.Select][]*query.Table{}, readOn: map[*query.Table][]*query.Table{}, common: newCommon()}
}

// emitterOf returns an emitter for the rows of a plan. If the plan is for one asset,
// hierarchies start at that asset.
func (w Writer) emitterOf(p *query.Plan) *emitter {
	e := w.emitter()
	id := query.ColumnOf{T: p.From, Name: "id"}
	for _, x := range p.Where {
		if c, ok := x.(query.Compare); ok && c.Op == "=" && c.L == query.Expr(id) {
			if arg, ok := c.R.(query.Arg); ok {
				e.one, e.root = arg, id
			}
		}
	}
	return e
}

// emitterOfPage is emitterOf for a statement that may have a page.
func (w Writer) emitterOfPage(p *query.Plan) *emitter {
	e := w.emitterOf(p)
	if p.Page == nil {
		return e
	}
	if p.RankAlone {
		e.ranked = p.From
	}
	e.stops = p.ByKey
	return e
}

// emitter writes one statement from left to right. So arguments come in the order of their
// placeholders.
type emitter struct {
	Writer
	b     strings.Builder
	args  []any
	alias map[*query.Table]int
	seeds []int64    // the parents that a hierarchy starts from; nil: all
	one   query.Expr // instead of seeds, the argument that is the id of the only row
	root  query.Expr // the id of those parents, or of the row

	moments []int64 // of seeds, for a branch

	// keyless has tables read without their key, and the outer table that the key compares
	// with.
	keyless map[*query.Table]*query.Table

	stops  bool         // a page is found without sorting
	tests  bool         // the next condition is evaluated for each row
	ranked *query.Table // the table of a page sorted by rank alone; nil: not by rank alone

	total *Statement // comes before the cells of the outermost SELECT; nil: no total

	existences int
	tables     int // number of aliases so far
	read       int // tables that references to common tables read

	readBy  map[*query.Select][]*query.Table // see readIn
	readOn  map[*query.Table][]*query.Table  // see readAt
	common  *common
	frame   *frame                    // of the SELECT that is being written
	given   map[query.ColumnOf]string // columns of outer rows that have another name here
	idOf    map[*query.Table]fixed    // ids of joined rows, as columns of this row
	rootSet string                    // instead of seeds, the common table of the parents' ids
	plain   *plain                    // not nil: only quick conditions are written
}

// unkeyed is a condition that SQLite must not use to choose a key. For a page by rank, SQLite
// would use the key of the type and sort all rows of the type. The key of the rank includes
// the type, so a page of a rare type needs that key alone.
type unkeyed struct{ query.Expr }

// block is the condition that an expression is one of a block of ids.
type block struct {
	query.Expr
	ids     []int64
	version *query.Table // nil if rows have no moments of their own
	moments []int64      // of the ids
}

// test is a condition that a server must not turn into a join.
type test struct{ query.Expr }

// fixed is SQL text as an expression.
type fixed struct {
	query.Expr
	text string
}

func (e *emitter) done() Statement { return e.common.before(Statement{e.b.String(), e.args}) }

func (e *emitter) arg(v any) {
	e.b.WriteByte('?')
	e.args = append(e.args, v)
}

// statement writes one SELECT, outermost or nested.
func (e *emitter) statement(s *query.Select, cells, where []query.Expr, order []query.Order) {
	e.enter(s.From, where)
	e.write("SELECT ")
	e.writeTotal()
	e.selected(s.From, cells, where, order)
	e.leave()
}

// writeTotal writes the number of all rows, if the outermost SELECT has it.
func (e *emitter) writeTotal() {
	if t := e.total; t != nil {
		e.total = nil
		e.write("(", t.SQL, "), ")
		e.args = append(e.args, t.Args...)
	}
}

// selected writes a SELECT from its cells on.
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

// name gives aliases to a table and the tables joined to it, in tree order.
func (e *emitter) name(t *query.Table, used map[*query.Table]bool) {
	e.alias[t] = e.tables
	e.tables++
	for _, j := range t.Joins {
		if used[j] {
			e.name(j, used)
		}
	}
}

func (e *emitter) aliasOf(t *query.Table) string {
	n, ok := e.alias[t]
	if !ok {
		panic(fmt.Sprintf("sqlgen: a %d table is read before it is named", t.Kind))
	}
	return "t" + strconv.Itoa(n)
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

// joins writes the joins of a table. It returns conditions that belong in the WHERE.
func (e *emitter) joins(t *query.Table, used map[*query.Table]bool) (left []query.Expr) {
	for _, j := range t.Joins {
		if !used[j] {
			continue
		}
		on := e.conditions(j)
		if id, ok := e.idOf[j]; ok {
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
			on, asking = e.apart(on)
			left = append(left, e.joinedApart(j, used, &on, asking)...)
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

// keepTests compares conditions that have a sub-select with 1, so that the server does not
// turn them into joins. A comparison is never turned into a join, and may use a key.
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

// conditions returns the conditions of a table itself: key, types, time and others.
func (e *emitter) conditions(t *query.Table) []query.Expr {
	var all []query.Expr
	key, on := t.Key, t.On
	if row, ok := e.keyless[t]; ok {
		key, on = nil, ofTypes(on, row)
	}
	if e.plain != nil && e.plain.own[t] {
		key, on = e.plain.key(t), e.plain.only(e.flatten(on))
	}
	if key != nil {
		all = append(all, key)
	}
	switch {
	case t.Typed && t == e.ranked:
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

// time returns the condition that a row of t holds at the time of t.
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

// notBefore is a moment, but at least another one.
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
