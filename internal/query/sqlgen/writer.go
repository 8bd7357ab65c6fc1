package sqlgen

import (
	"slices"

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

// Page writes the statement for the rows of a plan with all their cells, limited to its page. If
// total is true, the number of all rows comes before the cells.
func (w Writer) Page(p *query.Plan, total bool) Statement {
	e := w.emitterOfPage(p)
	e.total = w.totalOf(p, total)
	e.statement(&p.Select, p.Cells, w.ofPage(p), p.Order)
	e.limit(p.Page)
	if len(e.common.cells) > 0 && p.Page != nil {
		// In this form, common tables are evaluated only for the rows of the page.
		return w.IDsFirst(p, total)
	}
	return e.done()
}

// totalOf returns the statement of the total that comes before the cells; nil if the parameter
// total is false.
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
	e.enter(p.From, []query.Expr{inCommon{query.ColumnOf{T: p.From, Name: "id"}, pageName}})
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

// Lookup writes the statement of a lookup. It reads one id more than a lookup may find, so that the
// caller sees if there are too many.
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

// Block writes the statement for the rows with some ids, at most db.MaxIn, without the condition of
// the plan. moments has the moments of the ids, if every row has its own moment.
func (w Writer) Block(s *query.Select, ids, moments []int64) Statement {
	e := w.emitter()
	e.origin = origin{column: s.Parent, ids: ids}
	e.statement(s, s.Cells, e.among(s, nil, ids, moments), nil)
	return e.done()
}

// Together writes one statement for the row of a plan about one asset and for the rows of its
// branches. Each row begins with a number: 0 for the asset, 1 for the first branch, and so on. Each
// row has cells for the asset and for every branch. Only the cells that belong to the number of the
// row are not NULL.
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
		in.common, in.origin = e.common, origin{column: b.Parent, one: e.origin.one}
		where := append([]query.Expr{query.Compare{Op: "=", L: b.Parent, R: e.origin.one}}, b.Where...)
		in.statement(&b.Select, cells(i+1, before, b.Cells), where, nil)
		e.write(" UNION ALL ", in)
		before += len(b.Cells)
	}
	return e.done()
}

// Children writes the statement of a branch for a block of parents. It reads the rows that satisfy
// the condition of the branch, in the order of the branch. moments has the moments of the parents,
// if the parents have moments.
func (w Writer) Children(b *query.Branch, ids, moments []int64) Statement {
	e := w.emitter()
	e.origin = origin{column: b.Parent, ids: ids, moments: moments}
	where := b.Where
	if b.From.Kind != query.Pairs {
		where = e.among(&b.Select, where, ids, moments)
	}
	e.statement(&b.Select, b.Cells, where, b.Order)
	return e.done()
}

// Among writes the statement for the id, type and moment of the rows of a plan, restricted to some
// versions.
func (w Writer) Among(p *query.Plan, ids, moments []int64) Statement {
	e := w.emitter()
	e.origin = origin{column: p.Parent, ids: ids}
	e.statement(&p.Select, p.Cells[:query.CellMoment+1], e.among(&p.Select, p.Where, ids, moments), nil)
	return e.done()
}

// among adds a condition to where: the row of a plan, or the parent of a branch's row, is in a
// block of ids or versions.
func (e *emitter) among(s *query.Select, where []query.Expr, ids, moments []int64) []query.Expr {
	if s.Moment != nil {
		version := s.Moment.(query.ColumnOf).T
		return append([]query.Expr{block{s.Parent, ids, version, moments}}, where...)
	}
	return append([]query.Expr{block{Expr: s.Parent, ids: ids}}, where...)
}

// emitterOf returns an emitter for the rows of a plan. If the plan is for one asset,
// hierarchies start at that asset.
func (w Writer) emitterOf(p *query.Plan) *emitter {
	e := w.emitter()
	id := query.ColumnOf{T: p.From, Name: "id"}
	for _, x := range p.Where {
		if c, ok := x.(query.Compare); ok && c.Op == "=" && c.L == query.Expr(id) {
			if arg, ok := c.R.(query.Arg); ok {
				e.origin = origin{column: id, one: arg}
			}
		}
	}
	return e
}

// emitterOfPage returns an emitter like emitterOf, for a statement that may have a page.
func (w Writer) emitterOfPage(p *query.Plan) *emitter {
	e := w.emitterOf(p)
	if p.Page == nil {
		return e
	}
	if p.RankAlone {
		e.page.ranked = p.From
	}
	e.page.stops = p.ByKey
	return e
}
