package query

import (
	"slices"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query/token"
)

// Reader says which conditions on what the member sees a plan needs. At most one of them is true.
type Reader struct {
	All     bool // the member reads everything, so the plan has no conditions on scopes and rights
	Bounded bool // an access token limits what the member reads, so the plan also has conditions on types
}

// Options are the values on which a plan depends besides the query.
type Options struct {
	Reader
	When When // time of the outermost rows: Now, At or Version
}

// NewPlan converts a bound query to statements. It is pure: the same query and options always
// give the same plan.
// Errors: fault.Invalid that names what is not supported.
func NewPlan(q Bound, o Options) (*Plan, error) {
	p := &planner{all: o.All, bounded: o.Bounded, momented: q.Momented, rest: q.Rest}
	row := &Table{Kind: Asset, Of: q.Only, Typed: true, When: o.When}
	plan := &Plan{Page: q.Page, One: q.One}
	plan.From = row
	plan.Parent = ColumnOf{row, "id"}
	if o.When.Mode == Version {
		plan.Moment = ColumnOf{row, "moment"}
	}
	p.visible(row)
	l := &level{planner: p, row: row, joins: newJoins()}
	if o.When.Mode == Now {
		l.top = row
	}
	plan.Cells, plan.AtCell = fixedCells(row), CellMoment
	if q.ID != nil {
		plan.Where = append(plan.Where, Compare{"=", ColumnOf{row, "id"}, q.argOf(*q.ID, slotID)})
	}
	if q.Among != nil {
		in := In{X: ColumnOf{row, "id"}}
		for _, id := range q.Among {
			in.List = append(in.List, Arg{V: id})
		}
		plan.Where = append(plan.Where, in)
	}
	if q.Moment != nil {
		plan.Where = append(plan.Where, Compare{"=", ColumnOf{row, "moment"}, q.argOf(*q.Moment, slotMoment)})
	}
	if !q.Deleted {
		plan.Where = append(plan.Where, notDeleted(row)...)
	}
	l.rows(&plan.Body, q)
	plan.Order = append(plan.Order, Order{X: ColumnOf{row, "id"}})
	if o.When.Mode == Version {
		plan.Order = append(plan.Order, Order{X: ColumnOf{row, "moment"}})
	}
	for _, g := range q.Groups {
		plan.Groups = append(plan.Groups, len(plan.Branches))
		plan.Branches = append(plan.Branches, l.nested(g))
	}
	if q.Page != nil && q.Page.After != nil && p.err == nil {
		p.err = plan.resume(q)
	}
	plan.Lookups, plan.Past = p.lookups, p.past || o.When.Mode != Now
	if o.When.Mode == Now {
		plan.chooseAccess(q, o)
		plan.Together = q.ID != nil && q.Page == nil && len(plan.Groups) == 0 && len(plan.Branches) > 0 &&
			!slices.ContainsFunc(plan.Branches, func(b *Branch) bool { return !b.isPlain() })
	}
	return plan, p.err
}

// chooseAccess decides how the database finds the rows of a page. Without these decisions, servers
// often choose a slow way.
//
// It is faster to read ids first in three cases, because an index contains the ids: for rows of one
// scope in another order than rank, for rows below a scope, and for rows of several scopes in rank
// order.
//
// The index of the rank begins with all assets without a rank, such as members. If all types of the
// rows have ranks, a condition skips this part of the index.
//
// A text search in rank order over several scopes is usually faster without the index of the rank.
// It is slower only for a text that about half of the rows contain. To prevent the use of this
// index, the rows are sorted by a difference, the rank minus 0.
func (p *Plan) chooseAccess(q Bound, o Options) {
	ranked, scoped := byRank(p.Order[0]), inOneScope(q.Filter)
	p.IDsFirst = len(p.Lookups) > 0 || scoped && !ranked || ranked && !scoped && !o.All
	p.ByKey = ranked || p.Order[0].X == Expr(ColumnOf{p.From, "id"})
	p.RankAlone = ranked && q.Filter == nil && !q.Search
	if q.Search && ranked && !scoped {
		p.Order[0].X = Minus{p.Order[0].X, Num{0}}
	}
	if p.Page != nil && p.byRankUpwards() && !slices.ContainsFunc(q.Only, hasNoRank) && !scoped && len(p.Resume) == 0 {
		p.Ranked = []Expr{Compare{">", p.Order[0].X, Num{0}}}
	}
}

// isPlain reports whether the rows of a branch are assets in the order of their ids, without
// branches of their own.
func (b *Branch) isPlain() bool {
	return len(b.Branches) == 0 && b.Moment == nil && b.From.Kind != Pairs &&
		len(b.Order) == 1 && !b.Order[0].Desc && b.Order[0].X == b.Cells[CellID]
}

// inOneScope reports whether a filter restricts rows to named scopes.
func inOneScope(c *Cond) bool {
	if c == nil {
		return false
	}
	if c.Op == token.And {
		return slices.ContainsFunc(c.Kids, func(k Cond) bool { return inOneScope(&k) })
	}
	p := c.Term.Path
	return c.Op == token.Leaf && c.Term.Test == token.Eq && p.IsRelation() && len(p.Steps) == 1 && p.Steps[0].Attr.Place.Column == "scope_id"
}

// byRank reports whether rows are sorted by rank.
func byRank(o Order) bool {
	c, ok := o.X.(ColumnOf)
	return ok && c.Name == "order_key"
}

// planner is the state that all levels of one plan share.
type planner struct {
	all      bool // see Reader
	bounded  bool // see Reader
	momented bool // true: references from versions have a cell with the moment
	rest     bool // true: the references History and Prior have a cell with the moment
	lookups  []*Lookup
	past     bool // true: rows of the past are read
	err      error
}

// fail stores an error, unless there is an earlier one. It returns NULL as a placeholder, so that
// planning can continue. The plan is then not used.
func (p *planner) fail(format string, args ...any) Expr {
	if p.err == nil {
		p.err = fault.Invalidf(fault.NoPlace, format, args...)
	}
	return Null{}
}

// level is one SELECT while it is planned.
type level struct {
	*planner
	row   *Table // the table of the asset that "$" refers to
	top   *Table // the table of the outermost rows, if they are current
	joins *joins
	flat  bool // true inside an ON clause: nothing is joined, and to-one relations become sub-selects
}

// MaxTables is the maximum number of tables of one SELECT. MySQL joins at most 61.
const MaxTables = 60

// joins has the tables of one SELECT.
type joins struct {
	made   map[hopKey]*Table // joined tables that several paths can share
	tables int
}

func newJoins() *joins { return &joins{made: map[hopKey]*Table{}, tables: 1} }

// count counts the tables of one step. The parameter first is the first of these tables. count
// stores an error if the SELECT then has too many tables.
func (l *level) count(first *Table) {
	for t := first; ; t = t.Joins[0] {
		l.joins.tables++
		if len(t.Joins) == 0 {
			break
		}
	}
	if l.joins.tables > MaxTables {
		l.fail("too many relations in one query: the limit is %d", MaxTables)
	}
}

// hopKey identifies a join that several paths can share.
type hopKey struct {
	from *Table
	attr *meta.Attr
	to   *meta.Type
	now  bool
	all  bool
}

func fixedCells(t *Table) []Expr {
	return []Expr{ColumnOf{t, "id"}, ColumnOf{t, "type"}, ColumnOf{t, "moment"}}
}

// notDeleted returns the conditions that an asset is not deleted and is in no hidden project. A
// project is hidden if it, or a project above it, is deleted.
func notDeleted(t *Table) []Expr {
	all := []Expr{Compare{"<", ColumnOf{t, "state"}, Num{meta.StateDeleted}}}
	if some, every := Secured(t.Of); some {
		all = append(all, NotHidden{t, every})
	}
	return all
}

// rows plans the columns, the condition and the order of a level.
func (l *level) rows(b *Body, q Bound) {
	if q.Filter != nil {
		b.Where = append(b.Where, l.cond(l.row, *q.Filter))
	}
	for _, s := range q.Sort {
		switch x := l.sortKey(s.Path).(type) {
		case Num, Null: // the same for every row; in ORDER BY, SQL reads a number as the position of a column
		default:
			b.Order = append(b.Order, Order{X: x, Desc: s.Desc})
		}
	}
	branches := map[string]int{}
	for _, c := range q.Columns {
		b.Columns = append(b.Columns, l.column(b, branches, c))
	}
}

// sortKey returns the expression by which rows are sorted. It is NULL for a row whose type does not
// have the attribute.
func (l *level) sortKey(p Path) Expr {
	if p.Only != nil {
		is := isOf(l.row, p.Only)
		p.Only = nil
		return collated(If{is, l.sortKey(p)}, p.Kind())
	}
	if p.Kind() == meta.AssetType {
		return TypeOrder{l.steps(l.row, p.Steps)}
	}
	x := collated(l.value(l.row, p, false), p.Kind())
	if p.Kind() == meta.LongText && !isNull(x) {
		return Collated{Beginning{x}}
	}
	return x
}

// column plans one column: as cells of this statement, or as a branch.
func (l *level) column(b *Body, branches map[string]int, c BoundColumn) Column {
	col := Column{Name: c.Name, Attr: c.Path.Leaf.attr(), Kind: c.Path.Kind(), Only: c.Path.Only, Typed: -1, Branch: -1, Item: -1}
	if c.Path.Agg != None && col.Kind != meta.Date {
		col.Attr = nil
	}
	switch {
	case c.Sub != nil:
		col.Branch = len(b.Branches)
		b.Branches = append(b.Branches, l.nested(c))
	case c.Path.Many():
		col.Branch, col.Item = l.list(b, branches, c)
	case col.Kind == meta.Relation:
		l.reference(b, &col, l.row, c.Path.Steps)
	default:
		col.Cell = len(b.Cells)
		b.Cells = append(b.Cells, l.value(l.row, c.Path, true))
	}
	return col
}

// reference adds the cells of a to-one relation. If foreignKey returns the id, the relation allows
// only one type, and no moment is shown, this is only the id. Otherwise these are the id, the type
// code, and the moment if it is shown.
func (l *level) reference(b *Body, col *Column, t *Table, steps []Step) {
	col.Cell = len(b.Cells)
	if n := len(steps); n > 0 {
		last := steps[n-1]
		before := l.steps(t, steps[:n-1])
		if x := l.foreignKey(before, last); x != nil && len(last.To.Concrete) == 1 && !l.momented {
			col.Ref = last.To.Concrete[0]
			b.Cells = append(b.Cells, x)
			return
		}
		t = l.join(before, last)
	}
	col.Typed = col.Cell + 1
	b.Cells = append(b.Cells, ColumnOf{t, "id"}, ColumnOf{t, "type"})
	if l.momented && t.When.Mode != Now || l.rest && t.When.Mode == Version {
		col.MomentCell = len(b.Cells)
		b.Cells = append(b.Cells, ColumnOf{t, "moment"})
	}
}

// foreignKey returns the column with the id of a to-one relation if that id is enough. It is
// nil if the related asset must be read.
func (l *level) foreignKey(t *Table, s Step) Expr {
	if s.Only != nil || s.Filter != nil {
		return nil
	}
	if !l.all && !s.All && Restricted(s.To.Concrete) && !leadsToOwnScope(t, s) {
		return nil
	}
	switch s.Attr.Place.Kind {
	case meta.InColumn:
		return s.guarded(t, ColumnOf{t, s.Attr.Place.Column})
	case meta.System:
		if c, ok := systemRefs[s.Attr.Name]; ok {
			return s.guarded(t, ColumnOf{t, c})
		}
	}
	return nil
}

// guarded returns x for rows of the types that have the relation, otherwise NULL.
func (s Step) guarded(t *Table, x Expr) Expr {
	if s.Types == nil {
		return x
	}
	return If{isOf(t, s.Types), x}
}

// isOf returns the condition that a row of t has one of the types.
func isOf(t *Table, types []*meta.Type) Expr {
	return In{X: ColumnOf{t, "type"}, List: TypeCodes(types)}
}

// systemRefs has the to-one relations of the system that are stored in columns, with the names of
// these columns.
var systemRefs = map[string]string{"CreatedBy": "created_by", "ChangedBy": "changed_by"}
