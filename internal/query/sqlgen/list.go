package sqlgen

import (
	"slices"
	"strconv"

	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/store/db"
)

// oneOf writes the condition that a value is in a list, or is not. A list of arguments is padded
// with its last argument, so that there are few different statement texts. A list longer than
// db.MaxIn is written by oneOfMany.
func (e *emitter) oneOf(x query.In) {
	list := x.List
	if len(list) > db.MaxIn {
		e.oneOfMany(x)
		return
	}
	e.write(x.X, in(x.Not), "(")
	if len(list) == 0 {
		e.write("NULL")
	} else if last, ok := list[len(list)-1].(query.Arg); ok {
		list = slices.Concat(list, slices.Repeat([]query.Expr{last}, db.InSize(len(list))-len(list)))
	}
	e.separated(list, ", ")
	e.write(")")
}

func in(not bool) string {
	if not {
		return " NOT IN "
	}
	return " IN "
}

// oneOfMany writes a long list: one argument for each Go type, and the other values in chunks.
func (e *emitter) oneOfMany(x query.In) {
	m := e.many(x.List)
	guard := e.guards() && !x.Not && m.isOne()
	sep, next := "", " OR "
	if x.Not {
		next = " AND "
	}
	e.write("(")
	for _, part := range m.parts {
		e.write(sep, x.X, in(x.Not))
		e.listed(part, x.Bytes)
		sep = next
	}
	for part := range slices.Chunk(m.rest, db.MaxIn) {
		e.write(sep)
		e.oneOf(query.In{X: x.X, List: part, Not: x.Not})
		sep = next
	}
	e.write(")")
	if guard {
		e.write(" = 1")
	}
}

// guards counts a sub-select that a server may turn into a join. It reports whether the statement
// already has too many of them.
func (e *emitter) guards() bool {
	e.joinable++
	return e.joinable > maxJoined
}

// compareAny writes the condition that a comparison holds for any value of a long list.
func (e *emitter) compareAny(x query.CompareAny) {
	m, sep := e.many(x.List), ""
	compare := func(v any) { e.write(x.X, " ", x.Op, " ", v) }
	if x.Op == query.LikeOp {
		compare = func(v any) { e.matches(x.X, v) }
	}
	e.write("(")
	for _, part := range m.parts {
		e.write(sep, "EXISTS (SELECT 1 FROM ")
		e.listed(part, x.Op == query.LikeOp)
		e.write(" o WHERE ")
		compare("o.v")
		e.write(")")
		sep = " OR "
	}
	for _, v := range m.rest {
		e.write(sep)
		compare(v)
		sep = " OR "
	}
	e.write(")")
	if m.isOne() {
		e.write(" = 1") // so the server does not turn it into a join
	}
}

// many is a long list, split by the Go types of its values. rest has the values of other types.
type many struct {
	parts []any // []int64, []float64, []string
	rest  []query.Expr
}

// isOne reports whether all values are sent as one argument.
func (m many) isOne() bool { return len(m.parts) == 1 && len(m.rest) == 0 }

func (e *emitter) many(list []query.Expr) many {
	var ints []int64
	var floats []float64
	var texts []string
	var m many
	if !e.Dialect.Unfolds {
		return many{rest: list}
	}
	for _, v := range list {
		a, _ := v.(query.Arg)
		switch x := a.V.(type) {
		case int64:
			ints = append(ints, x)
			continue
		case float64:
			floats = append(floats, x)
			continue
		case string:
			if e.Dialect.Listable(x) {
				texts = append(texts, x)
				continue
			}
		}
		m.rest = append(m.rest, v)
	}
	if ints != nil {
		m.parts = append(m.parts, ints)
	}
	if floats != nil {
		m.parts = append(m.parts, floats)
	}
	if texts != nil {
		m.parts = append(m.parts, texts)
	}
	return m
}

func (e *emitter) listed(values any, bytes bool) {
	sql, arg := e.Dialect.List(values, bytes)
	e.write(sql)
	e.args = append(e.args, arg)
}

// maxPlaceholders is the number of arguments after which a statement has ids as text instead of
// arguments. Nested visibility conditions repeat the same lists, and SQLite allows 32,766
// arguments.
const maxPlaceholders = 4000

// ids writes a list of ids.
func (e *emitter) ids(ids []int64) {
	switch {
	case len(ids) > db.MaxIn:
		text, args := e.Dialect.IDs(ids)
		e.write(text)
		e.args = append(e.args, args...)
		return
	case len(ids) > 0 && len(e.args) > maxPlaceholders:
		e.write("(")
		e.literal(ids)
		e.write(")")
		return
	}
	text, args := db.InArgs(ids)
	e.write(text)
	e.args = append(e.args, args...)
}

// block writes the condition that rows belong to a block. The rows are found by a column, or by the
// ids and moments of versions.
func (e *emitter) block(x block) {
	if x.version == nil {
		e.write(x.Expr, " IN ", x.ids)
		return
	}
	pairs := make([][2]int64, len(x.ids))
	for i, id := range x.ids {
		pairs[i] = [2]int64{id, x.moments[i]}
	}
	condition, args := e.Dialect.Pairs(e.aliasOf(x.version), pairs)
	e.write(condition)
	e.args = append(e.args, args...)
}

// literal writes ids without arguments. They come from the database, not from a client.
func (e *emitter) literal(ids []int64) {
	for i, id := range ids {
		if i > 0 {
			e.b.WriteByte(',')
		}
		e.b.WriteString(strconv.FormatInt(id, 10))
	}
}

// shortestRun is the minimum number of consecutive ids that are written as a range.
const shortestRun = 4

// inRuns writes the condition that an id is in an ascending list. It adds 0 to the id, because the
// server must not use this condition to choose an index. Consecutive ids are written as ranges,
// because assets that were created together often have such ids.
func (e *emitter) inRuns(id query.Expr, ids []int64) {
	var single []int64
	e.write("(")
	for from := 0; from < len(ids); {
		to := from + 1
		for to < len(ids) && ids[to] == ids[to-1]+1 {
			to++
		}
		if to-from < shortestRun {
			single = append(single, ids[from:to]...)
		} else {
			e.write(id, " + 0 BETWEEN ")
			e.literal(ids[from : from+1])
			e.write(" AND ")
			e.literal(ids[to-1 : to])
			e.write(" OR ")
		}
		from = to
	}
	e.write(id, " + 0 IN (")
	if len(single) == 0 {
		e.write("NULL")
	}
	e.literal(single)
	e.write("))")
}
