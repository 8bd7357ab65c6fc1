package query

import (
	"slices"

	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/token"
)

// Options says for whom and when a plan is made.
type Options struct {
	All  bool // the member who asks sees everything: no condition on scopes
	When When // Now, At or Version of the outermost rows
}

// NewPlan lays q out as statements. It is pure: the same q and options always
// give the same plan.
// Errors: fault.Invalid for what cannot be carried out, naming it.
func NewPlan(q Bound, o Options) (*Plan, error) {
	p := &planner{all: o.All}
	row := &Table{Kind: Asset, Of: q.Only, Typed: true, When: o.When}
	plan := &Plan{Type: q.Type, Page: q.Page, One: q.One}
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
	plan.Lookups = p.lookups
	if o.When.Mode == Now {
		plan.chooseAccess(q, o)
	}
	return plan, p.err
}

// walk chooses between the ways to a page that a server tends to misjudge. Ids
// alone are found in a key: that pays in a scope whose rows have to be sorted,
// below a scope, and in rank order over many scopes. Text is searched faster by
// reading rows as they lie than by following the rank from row to row, unless
// the text is in every other row; a difference is in no key.
func (p *Plan) chooseAccess(q Bound, o Options) {
	ranked, scoped := byRank(p.Order[0]), inOneScope(q.Filter)
	p.IDsFirst = len(p.Lookups) > 0 || scoped && !ranked || ranked && !o.All
	if q.Search && ranked && !scoped {
		p.Order[0].X = Minus{p.Order[0].X, Num{0}}
	}
}

// inOneScope reports whether a filter wants rows of named scopes.
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

// byRank reports whether rows come in the order that keys of scopes have.
func byRank(o Order) bool {
	c, ok := o.X.(ColumnOf)
	return ok && c.Name == "order_key"
}

// planner keeps what all levels of one plan share.
type planner struct {
	all     bool
	lookups []*Lookup
	err     error
}

// fail keeps the first error; planning goes on with a value that is never run.
func (p *planner) fail(format string, args ...any) Expr {
	if p.err == nil {
		p.err = fault.Invalidf(fault.NoPlace, format, args...)
	}
	return Null{}
}

// level is one SELECT being made: its row table and the joins it can share.
type level struct {
	*planner
	row   *Table // what "$" means
	top   *Table // the outermost rows, when they are current
	joins *joins
	flat  bool // inside an ON clause: no joins, to-one relations are sub-selects
}

// MaxTables bounds the tables of one SELECT. MySQL joins 61 at most.
const MaxTables = 60

// joins is what one SELECT has joined so far.
type joins struct {
	made   map[hopKey]*Table // those that can be shared
	tables int
}

func newJoins() *joins { return &joins{made: map[hopKey]*Table{}, tables: 1} }

// count adds the tables of one step.
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

// hopKey tells joins apart that can be shared.
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

// notDeleted is the condition that the asset of t is not deleted, nor a project that
// it lies in.
func notDeleted(t *Table) []Expr {
	all := []Expr{Compare{"<", ColumnOf{t, "state"}, Num{meta.StateDeleted}}}
	if some, every := Secured(t.Of); some {
		all = append(all, NotHidden{t, every})
	}
	return all
}

// visible adds the condition on scopes that rows of t need.
func (p *planner) visible(t *Table) {
	if p.all {
		return
	}
	if some, every := Secured(t.Of); some {
		t.On = append(t.On, Visible{t, every})
	}
}

// Secured reports whether some and whether all of the types always have a
// scope that decides who sees their assets. Of the former, assets in scopes the
// member does not read are hidden; of the latter, assets without a scope too.
func Secured(types []*meta.Type) (some, every bool) {
	every = true
	for _, t := range types {
		s := t.Secured != meta.Secured{}
		some = some || s
		every = every && s && alwaysScoped(t, 0)
	}
	return some, every
}

// alwaysScoped follows the relation that gives a type its scope, as long as
// it is required.
func alwaysScoped(t *meta.Type, depth int) bool {
	if t.Secured.Self {
		return true
	}
	via, ok := t.Attr(t.Secured.Via)
	if !ok || !via.Required || depth > MaxNested {
		return false
	}
	return !slices.ContainsFunc(via.TargetTypes(), func(r *meta.Type) bool { return !alwaysScoped(r, depth+1) })
}

// rows lays out the columns, condition and order of a level into b.
func (l *level) rows(b *Body, q Bound) {
	if q.Filter != nil {
		b.Where = append(b.Where, l.cond(l.row, *q.Filter))
	}
	for _, s := range q.Sort {
		switch x := l.sortKey(s.Path).(type) {
		case Num, Null: // the same for every row, and SQL takes a number for a column
		default:
			b.Order = append(b.Order, Order{X: x, Desc: s.Desc})
		}
	}
	branches := map[string]int{}
	for _, c := range q.Columns {
		b.Columns = append(b.Columns, l.column(b, branches, c))
	}
}

// sortKey is what rows sort by. A row of a type that has no such attribute has
// no value.
func (l *level) sortKey(p Path) Expr {
	if p.Only != nil {
		is := isOf(l.row, p.Only)
		p.Only = nil
		return collated(If{is, l.sortKey(p)}, p.Kind())
	}
	if p.Kind() == meta.AssetType {
		return TypeOrder{l.steps(l.row, p.Steps)}
	}
	return collated(l.value(l.row, p, false), p.Kind())
}

// column lays out one column: cells of this statement, or a branch.
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

// reference adds the cells of a to-one relation: the id, and the type code
// where the relation does not tell it.
func (l *level) reference(b *Body, col *Column, t *Table, steps []Step) {
	col.Cell = len(b.Cells)
	if n := len(steps); n > 0 {
		last := steps[n-1]
		before := l.steps(t, steps[:n-1])
		if x := l.foreignKey(before, last); x != nil && len(last.To.Concrete) == 1 {
			col.Ref = last.To.Concrete[0]
			b.Cells = append(b.Cells, x)
			return
		}
		t = l.join(before, last)
	}
	col.Typed = col.Cell + 1
	b.Cells = append(b.Cells, ColumnOf{t, "id"}, ColumnOf{t, "type"})
}

// foreignKey returns the column that holds the id of a to-one relation, when
// nothing about the related asset has to be looked at; else nil.
func (l *level) foreignKey(t *Table, s Step) Expr {
	if s.Only != nil || s.Filter != nil {
		return nil
	}
	if some, _ := Secured(s.To.Concrete); some && !l.all && !s.All {
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

// guarded is x on rows of the types that have the relation, else NULL.
func (s Step) guarded(t *Table, x Expr) Expr {
	if s.Types == nil {
		return x
	}
	return If{isOf(t, s.Types), x}
}

// isOf is the condition that a row of t has one of the types.
func isOf(t *Table, types []*meta.Type) Expr {
	return In{X: ColumnOf{t, "type"}, List: TypeCodes(types)}
}

// systemRefs are the to-one relations that fixed columns hold.
var systemRefs = map[string]string{"CreatedBy": "created_by", "ChangedBy": "changed_by"}
