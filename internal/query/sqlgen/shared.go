package sqlgen

import (
	"slices"
	"strconv"

	"github.com/alds-dev/alds/internal/query"
)

// This file evaluates a sub-select once for each asset on which it depends, if many rows share that
// asset. Example: all stories of a project share a value over the other stories of that project.
// Servers run a sub-select once for every row.
//
// So the statement gets two common tables. The first has the distinct assets to which the rows of
// the statement refer. It is read with the plain conditions of the statement (plain.go). The second
// has the value of the sub-select for each of these assets, and the statement looks this value up.
// Sub-selects inside the sub-select follow the same rule. They start at the distinct assets of the
// outer sub-select. So the work grows with the number of rows, not with the number of paths between
// them.

// frame is a SELECT, outermost or nested, while it is written.
type frame struct {
	from  *query.Table
	where []query.Expr
	outer *frame
	cell  int    // index of the cell that is being written, or noCell
	parts []part // tables of values, joined after the other tables of the SELECT

	aggregate bool // true: the argument of an aggregate function is being written
}

// part is a table of values, joined by its key.
type part struct {
	table string
	key   query.ColumnOf
}

func (f *frame) alias(i int) string { return "p" + strconv.Itoa(i) }

const noCell = -1

// maxDepth is the maximum number of common tables, of assets and hierarchies, that depend on each
// other in a chain. Deeper sub-selects are written in place. MySQL allows 63 nested SELECTs and
// SQLite 100. Each common table and the table of its values need several nested SELECTs.
const maxDepth = 10

// Shared returns the indexes of the cells that read values shared by many rows. One statement
// should read these cells for all rows, because each statement evaluates the values again.
func (w Writer) Shared(s *query.Select) []int {
	if s.Moment != nil || s.From.Kind == query.Pairs || !slices.ContainsFunc(s.Cells, hasOnce) {
		return nil
	}
	e := w.emitter()
	e.statement(s, s.Cells, nil, nil)
	return e.common.cells
}

// hasOnce reports whether an expression has a sub-select that should be evaluated once.
func hasOnce(x query.Expr) bool {
	var f onceFinder
	f.Expr(x)
	return f.found
}

type onceFinder struct{ found bool }

// Expr visits a part of the expression.
func (f *onceFinder) Expr(x query.Expr) { query.Walk(x, f) }

// Table does nothing: a table has no sub-select.
func (*onceFinder) Table(*query.Table) {}

// Select visits a sub-select.
func (f *onceFinder) Select(s *query.Select) { f.found = f.found || s.Once }

// enter begins a SELECT.
func (e *emitter) enter(from *query.Table, where []query.Expr) {
	e.frame = &frame{from: from, where: where, outer: e.frame, cell: noCell}
	e.setFrame(from)
}

func (e *emitter) setFrame(t *query.Table) {
	e.common.frames[t] = e.frame
	for _, j := range t.Joins {
		e.setFrame(j)
	}
}

func (e *emitter) leave() { e.frame = e.frame.outer }

// forCommon returns an emitter for a common table.
func (e *emitter) forCommon() *emitter {
	in := e.emitter()
	in.common, in.deps = e.common, e.deps
	in.frame = &frame{cell: noCell}
	return in
}

// scalar writes the value of a sub-select.
func (e *emitter) scalar(s *query.Select) {
	table, key := e.shared(s, false)
	if table == "" {
		e.write("(", s, ")")
		return
	}
	zero := isZeroOfNothing(s.Cells[0])
	if zero {
		e.write("COALESCE(")
	}
	if e.frame.aggregate {
		e.write(e.part(table, key), ".v")
	} else {
		e.write("(SELECT v FROM ", e.reads(table), " WHERE k = ", key, ")")
	}
	if zero {
		e.write(", 0)")
	}
}

// part returns the alias by which an aggregate function reads a table of values. The table is
// joined, since MariaDB refuses a lookup inside an aggregate.
func (e *emitter) part(table string, key query.ColumnOf) string {
	f := e.frame
	alias := f.alias(len(f.parts))
	f.parts = append(f.parts, part{e.reads(table), key})
	return alias
}

// joinParts joins the tables of values that the cells of the current SELECT read.
func (e *emitter) joinParts() {
	for i, p := range e.frame.parts {
		e.write(" LEFT JOIN ", p.table, " ", e.frame.alias(i), " ON ", e.frame.alias(i), ".k = ", p.key)
	}
}

// isZeroOfNothing reports whether the value of x over no rows is 0 instead of NULL.
func isZeroOfNothing(x query.Expr) bool {
	switch x := x.(type) {
	case query.Func:
		return x.Name == "COUNT"
	case query.Number:
		return isZeroOfNothing(x.X)
	case query.Coalesce:
		return x.Else == query.Expr(query.Num{})
	}
	return false
}

// reads records a reference to a common table and returns the name of the table. For each
// reference, it counts all tables that the common table reads. The reason is that servers copy the
// common table to each reference before they find that the copies are equal.
func (e *emitter) reads(name string) string {
	e.size += e.common.size[name]
	e.commons = append(e.commons, name)
	return name
}

// isIn writes the condition that a sub-select has a row for key. table has the keys for which there
// is a row.
func (e *emitter) isIn(key query.ColumnOf, table string, not bool) {
	switch inside := e.frame.aggregate; {
	case inside && not:
		e.write("(", e.part(table, key), ".k IS NULL)")
	case inside:
		e.write("(", e.part(table, key), ".k IS NOT NULL)")
	case not:
		e.write("(", key, " IN (SELECT k FROM ", e.reads(table), ")) IS NOT TRUE")
	default:
		e.write("(", key, " IN (SELECT k FROM ", e.reads(table), "))")
	}
}

// isInAggregate reports whether the current SELECT is inside the argument of an aggregate
// function. A table cannot be joined there.
func (e *emitter) isInAggregate() bool {
	for f := e.frame.outer; f != nil; f = f.outer {
		if f.aggregate {
			return true
		}
	}
	return false
}

// sharing describes how a sub-select is evaluated once for each key.
type sharing struct {
	key     query.ColumnOf // the column of the outer row on which the value depends
	keyOnly bool           // true: the value depends on nothing else of the outer row
	keys    string         // the common table of the distinct keys
}

// shared adds the common table of a sub-select. The table has the value of the sub-select for each
// key. For a test, it has only the keys for which the sub-select has a row. It returns the name of
// the table and the key of the row. The name is empty if the sub-select must be written in place.
func (e *emitter) shared(s *query.Select, test bool) (table string, key query.ColumnOf) {
	sh, ok := e.sharing(s, test)
	if !ok {
		return "", key
	}
	in, columns := e.valuesOf(s, test, sh)
	if e.size+in.size > maxSize {
		e.common.inPlace[s] = true
		return "", key
	}

	outermost := e.frame
	for outermost.outer != nil {
		outermost = outermost.outer
	}
	if cell := outermost.cell; cell != noCell && !slices.Contains(e.common.cells, cell) {
		e.common.cells = append(e.common.cells, cell)
	}
	return e.common.add(in, columns), sh.key
}

// sharing decides whether a sub-select is evaluated once for each key, instead of once for each
// row. test means that only the existence of a row matters.
func (e *emitter) sharing(s *query.Select, test bool) (sharing, bool) {
	if !s.Once || e.isInAggregate() || e.common.inPlace[s] || test && e.page.stops && isQuick(s) {
		return sharing{}, false
	}
	key, keyOnly, ok := correlation(s)
	if !ok || !e.repeats(key) {
		return sharing{}, false
	}
	keys := e.distinct(key)
	return sharing{key, keyOnly, keys}, keys != "" && e.common.depth[keys] <= maxDepth
}

// valuesOf writes the common table of a shared sub-select. It returns the emitter that has written
// the table, and the columns of the table.
func (e *emitter) valuesOf(s *query.Select, test bool, sh sharing) (in *emitter, columns string) {
	in = e.forCommon()
	in.origin = origin{column: sh.key, common: sh.keys}
	keyHere := sh.keys + ".id"
	var where []query.Expr
	if !sh.keyOnly {
		in.name(sh.key.T, nil)
		keyHere = in.aliasOf(sh.key.T) + ".id"
		where = append(in.time(sh.key.T), inCommon{sh.key, sh.keys})
	}
	in.replaced.columns = map[query.ColumnOf]string{sh.key: keyHere}

	columns = "k"
	if in.write("SELECT DISTINCT ", sh.key); !test { // without DISTINCT, servers merge the table into the statement
		columns = "k, v"
		in.write(", (", s, ")")
	}
	if in.write(" FROM "); sh.keyOnly {
		in.write(in.reads(sh.keys))
	} else {
		in.table(sh.key.T)
	}
	if test {
		where = append(where, direct{s: s})
	}
	if len(where) > 0 {
		in.write(" WHERE ")
		in.conds(where)
	}
	return in, columns
}

// isQuick reports whether a test is about named assets one step away. Such a test needs one or two
// lookups in an index. A statement that stops when its page is full tests few rows, so it can make
// this test for each row.
func isQuick(s *query.Select) bool {
	steps := len(s.From.Joins)
	for _, j := range s.From.Joins {
		steps += len(j.Joins)
	}
	if s.From.Kind == query.Asset {
		steps++
	}
	return steps <= 1 && s.From.Kind != query.Tree && slices.ContainsFunc(s.Where, namesAssets)
}

// direct is the condition that a sub-select has a row, written in place.
type direct struct {
	query.Expr
	s *query.Select
}

// inCommon is the condition that a column is one of the ids of a common table.
type inCommon struct {
	query.ColumnOf
	table string
}

// correlation returns the column of an outer row on which the rows of a sub-select depend. keyOnly
// is true if the sub-select reads nothing else of that row. Otherwise the key is the id of the row.
//
// ok is false if rows have moments of their own, or if the sub-select reads two outer rows. It is
// also false if the first row of the sub-select is found by its own id, because that is quick.
func correlation(s *query.Select) (key query.ColumnOf, keyOnly, ok bool) {
	first, _ := s.From.Key.(query.Compare)
	by, _ := first.L.(query.ColumnOf)
	up, ok := first.R.(query.ColumnOf)
	if !ok || by.T != s.From || by.Name == "id" {
		return key, false, false
	}
	r := newReads()
	r.Select(s)
	keyOnly = true
	for c := range r.columns {
		switch {
		case r.own[c.T], c == up:
		case c.T == up.T:
			keyOnly = false
		default:
			return key, false, false
		}
	}
	for t := range r.whole {
		switch {
		case r.own[t]:
		case t == up.T:
			keyOnly = false
		default:
			return key, false, false
		}
	}
	switch {
	case r.moments:
		return key, false, false
	case keyOnly:
		return up, true, true
	}
	return query.ColumnOf{T: up.T, Name: "id"}, false, up.T.Kind == query.Asset && up.Name == "id"
}

// reads collects what a SELECT reads.
type reads struct {
	own     map[*query.Table]bool
	columns map[query.ColumnOf]bool
	whole   map[*query.Table]bool // tables that are read other than by a column
	moments bool                  // true: rows are read at moments of their own
	joined  *query.Table          // a table whose time is part of its ON; nil: none
}

func newReads() *reads {
	return &reads{own: map[*query.Table]bool{}, columns: map[query.ColumnOf]bool{}, whole: map[*query.Table]bool{}}
}

// outer reports whether rows of outer tables are read.
func (r *reads) outer() bool {
	for c := range r.columns {
		if !r.own[c.T] {
			return true
		}
	}
	for t := range r.whole {
		if !r.own[t] {
			return true
		}
	}
	return false
}

// Select collects what a nested SELECT reads.
func (r *reads) Select(s *query.Select) {
	r.from(s.From)
	r.exprs(s.Cells)
	r.exprs(s.Where)
	for _, o := range s.Order {
		r.Expr(o.X)
	}
}

func (r *reads) from(t *query.Table) {
	r.own[t] = true
	r.at(t)
	if t.Key != nil {
		r.Expr(t.Key)
	}
	r.exprs(t.On)
	for _, j := range t.Joins {
		r.from(j)
	}
}

func (r *reads) at(t *query.Table) {
	r.moments = r.moments || t.When.Mode == query.Each || t.When.Mode == query.Version
	if t.When.Mode == query.Each && t != r.joined {
		r.columns[query.ColumnOf{T: t.When.Base, Name: "moment"}] = true
	}
}

func (r *reads) exprs(list []query.Expr) {
	for _, x := range list {
		r.Expr(x)
	}
}

// Expr collects what an expression reads.
func (r *reads) Expr(x query.Expr) {
	if c, ok := x.(query.ColumnOf); ok {
		r.columns[c] = true
		r.at(c.T)
		return
	}
	query.Walk(x, r)
}

// Table collects a table that is read other than by a column.
func (r *reads) Table(t *query.Table) {
	r.whole[t] = true
	r.at(t)
}

// repeats reports whether several rows may have the same value of a column. If the SELECT of the
// rows is evaluated several times, the rows of all evaluations count together.
func (e *emitter) repeats(c query.ColumnOf) bool {
	if _, ok := e.replaced.columns[c]; ok {
		return false
	}
	f := e.common.frames[c.T]
	switch {
	case f == nil, f.outer == nil && e.origin.one != nil:
		return false
	case c.T.Kind != query.Asset || c.Name != "id":
		return true
	case c.T == f.from && f.outer == nil:
		return false
	}
	key, _ := c.T.Key.(query.Compare)
	by, _ := key.L.(query.ColumnOf)
	up, ok := key.R.(query.ColumnOf)
	// An asset that is found by its own id may repeat. An asset that is found by another column
	// repeats only if the value of the outer column repeats.
	return !ok || by.T != c.T || by.Name == "id" || e.repeats(up)
}

// distinct returns the name of a common table with the distinct values of a column in all rows of
// its SELECT. The table may have more values than that. distinct adds the table if it does not
// exist. It returns "" if the rows are not found by a column.
func (e *emitter) distinct(c query.ColumnOf) string {
	if name, ok := e.common.distinct[c]; ok {
		return name
	}
	f := e.common.frames[c.T]
	in := e.forCommon()
	plain := newPlain(f.from)
	if plain.moments {
		return ""
	}
	plain.addSure(f.from, in)
	in.replaced.plain = plain
	if f.outer == nil {
		in.origin = e.origin
	} else {
		key, _ := f.from.Key.(query.Compare)
		by, isColumn := key.L.(query.ColumnOf)
		up, isOuter := key.R.(query.ColumnOf)
		if !isColumn || !isOuter || e.common.frames[up.T] == nil {
			return ""
		}
		outer := e.distinct(up)
		if outer == "" {
			return ""
		}
		in.origin = origin{column: up, common: outer}
		plain.from, plain.by = f.from, inCommon{by, outer}
		if f.from.Kind == query.Tree && in.origin.isCommonFor(f.from) {
			plain.by = nil // the table of the hierarchy has no other rows
		}
	}
	in.write("SELECT DISTINCT ")
	in.selected(f.from, []query.Expr{c}, plain.where(in.flatten(f.where)), nil)

	name := e.common.add(in, "id")
	depth := e.common.depth[in.origin.common] + 1
	if f.from.Kind == query.Tree {
		depth++ // the table of the hierarchy counts, too
	}
	e.common.distinct[c], e.common.depth[name] = name, depth
	return name
}
