package query

import (
	"fmt"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
)

// list adds a to-many column to a branch of b. Columns of the same relation share a branch.
// branches has the index of the branch for each relation. list returns the index of the branch, and
// the index of the column in the branch.
func (l *level) list(b *Body, branches map[string]int, c BoundColumn) (branch, item int) {
	n := len(c.Path.Steps)
	for n > 0 && !c.Path.Steps[n-1].Attr.Multi && !isMultiValue(c.Path) {
		n--
	}
	key := stepsKey(c.Path.Steps[:n])
	if isMultiValue(c.Path) {
		key += "=" + c.Path.Leaf.Attr.Token()
	}
	if usesContext(c.Path.Steps[n:]) {
		key += "$"
	}
	i, ok := branches[key]
	if !ok {
		i = len(b.Branches)
		branches[key] = i
		b.Branches = append(b.Branches, &Branch{})
		l.startList(b.Branches[i], c.Path, n)
	}
	br := b.Branches[i]
	col := Column{Name: c.Name, Attr: c.Path.Leaf.attr(), Kind: c.Path.Kind(), Typed: -1, Branch: -1, Item: -1}
	inner := br.level(l)
	inner.row = br.outer
	switch {
	case isMultiValue(c.Path):
		col.Cell = len(br.Cells)
		br.Cells = append(br.Cells, ColumnOf{br.last(), "value"})
	case col.Kind == meta.Relation:
		inner.reference(&br.Body, &col, br.last(), c.Path.Steps[n:])
	default:
		rest := c.Path
		rest.Steps = rest.Steps[n:]
		col.Cell = len(br.Cells)
		br.Cells = append(br.Cells, inner.value(br.last(), rest, true))
	}
	br.Columns = append(br.Columns, col)
	return i, len(br.Columns) - 1
}

func isMultiValue(p Path) bool { return p.Leaf.Attr != nil && p.Leaf.Attr.Multi }

func stepsKey(steps []Step) string {
	var b strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&b, "/%s:%s#%v[%p]%v", s.Attr.Token(), s.To.Name, s.Now, s.Filter, len(s.Only))
	}
	return b.String()
}

// level returns the level of a branch's rows, with the joins of the branch.
func (br *Branch) level(outer *level) *level {
	return &level{planner: outer.planner, row: br.last(), joins: br.joins}
}

func (br *Branch) last() *Table { return br.rowTable }

// startList begins the statement of a to-many column. Its rows are the related assets or the values
// of a multi-value scalar. n is the number of steps from the parent to these rows.
func (l *level) startList(br *Branch, p Path, n int) {
	c := l.chain(&br.Select, p.Steps[:n], usesContext(p.Steps[n:]))
	br.rowTable, br.outer, br.joins = c.last, c.row, c.joins
	if !isMultiValue(p) {
		br.Cells = append(fixedCells(c.last), c.cells()...)
		return
	}
	v := c.attach(&br.Select, l.valuesTable(c.last, p.Leaf.Attr))
	br.rowTable = v
	br.Cells = append([]Expr{Num{0}, Num{0}, Num{0}}, c.cells()...)
	br.Order = append(br.Order, Order{X: ColumnOf{v, "value"}}, Order{X: Bytes{ColumnOf{v, "value"}}})
}

// nested plans the statement of a nested select.
func (l *level) nested(c BoundColumn) *Branch {
	br := &Branch{}
	ch := l.chain(&br.Select, c.Path.Steps, false)
	br.rowTable, br.joins = ch.last, ch.joins
	br.Cells = append(fixedCells(ch.last), ch.cells()...)
	br.readAt(ch)
	byID := br.Order
	br.Order = nil
	inner := br.level(l)
	inner.rows(&br.Body, *c.Sub)
	br.Order = append(br.Order, byID...)
	return br
}

// readAt sets AtCell: the cell with the moment at which the branches of a row are read. For a
// version, this is the moment of the version. For a row that is read at the moment of another
// version, it is the moment of that version. readAt adds the cell if the statement does not have it
// yet.
func (br *Branch) readAt(c chain) {
	br.AtCell = CellMoment
	if c.last.When.Mode != Each {
		return
	}
	x := ColumnOf{c.last.When.Base, "moment"}
	if br.AtCell = CellParentMoment; c.moment != Expr(x) {
		br.AtCell = len(br.Cells)
		br.Cells = append(br.Cells, x)
	}
}

// chain has the tables from a parent to the rows of a branch.
type chain struct {
	parent Expr
	moment Expr
	row    *Table // the table of the parent
	last   *Table
	joins  *joins
}

// chain begins the statement of a branch. It adds the table of the parent, which is a row of l, and
// the tables of steps. The table of the parent is omitted if the first table of the steps has the
// id of the parent and nothing else refers to the parent. named is true if the rest of the path
// refers to the parent.
//
// In mode Version, the parent is a version. In mode Each, the parent is the row that was valid at
// the moment of the version that refers to it.
func (l *level) chain(sel *Select, steps []Step, named bool) chain {
	par := &Table{Kind: Asset, Of: l.row.Of, When: l.row.When}
	var moment Expr
	switch par.When.Mode {
	case Version:
		sel.From, moment = par, ColumnOf{par, "moment"}
	case Each:
		pairs := &Table{Kind: Pairs, Joins: []*Table{par}}
		par.Key = Compare{"=", ColumnOf{par, "id"}, ColumnOf{pairs, "id"}}
		par.When.Base = pairs
		sel.From, moment = pairs, ColumnOf{pairs, "moment"}
	default:
		if par.omitted = len(steps) == 0 || holdsParent(steps[0]) && !named && !usesContext(steps); !par.omitted {
			sel.From = par
		}
	}
	inner := &level{planner: l.planner, row: par, joins: newJoins()}
	c := chain{parent: ColumnOf{par, "id"}, moment: moment, row: par, last: par, joins: inner.joins}
	for _, s := range steps {
		c.last = inner.extend(sel, c.last, s, true)
		if s.Attr.Multi {
			sel.Order = append(sel.Order, byID(c.last)...)
		}
	}
	if len(sel.Order) == 0 && len(steps) > 0 {
		sel.Order = byID(c.last)
	}
	if par.omitted && sel.From != nil {
		c.parent = sel.From.detach()
	}
	sel.Parent, sel.Moment = c.parent, c.moment
	return c
}

// byID returns the order of related assets. Versions of one asset are sorted by time.
func byID(t *Table) []Order {
	order := []Order{{X: ColumnOf{t, "id"}}}
	if t.When.Mode == Version {
		order = append(order, Order{X: ColumnOf{t, "moment"}})
	}
	return order
}

// detach removes the condition that joins t, the first table of a branch, to the parent. It returns
// the column of t with the id of the parent.
func (t *Table) detach() Expr {
	key := t.Key.(Compare)
	t.Key = nil
	return key.L
}

// attach joins a table of values to the last table of a chain.
func (c *chain) attach(sel *Select, t *Table) *Table {
	if sel.From == nil {
		sel.From = t
		c.parent = t.detach()
		sel.Parent = c.parent
		return t
	}
	c.last.Joins = append(c.last.Joins, t)
	return t
}

func (c *chain) cells() []Expr {
	if c.moment != nil {
		return []Expr{c.parent, c.moment}
	}
	return []Expr{c.parent}
}

// holdsParent reports whether the table of a step has a column with the id of the asset where
// the step starts.
func holdsParent(s Step) bool {
	switch s.Attr.Place.Kind {
	case meta.InLinks, meta.InLinksBack, meta.Reverse, meta.Closure:
		return true
	}
	return false
}
