package sqlgen

import (
	"slices"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/query"
)

// oneOf writes the condition that x is one of the list of in, or none. A list of
// arguments is padded, so that few texts exist; one longer than db.MaxIn is sent
// as one argument.
func (e *emitter) oneOf(x func(), in query.In) {
	list := in.List
	if len(list) > db.MaxIn {
		e.oneOfMany(x, in)
		return
	}
	x()
	if in.Not {
		e.put(" NOT")
	}
	e.put(" IN (")
	if len(list) == 0 {
		e.put("NULL")
	}
	for i, v := range list {
		if i > 0 {
			e.put(", ")
		}
		e.expr(v)
	}
	if last, ok := lastArg(list); ok {
		for range db.InSize(len(list)) - len(list) {
			e.put(", ")
			e.arg(last)
		}
	}
	e.put(")")
}

func lastArg(list []query.Expr) (any, bool) {
	if len(list) == 0 {
		return nil, false
	}
	a, ok := list[len(list)-1].(query.Arg)
	return a.V, ok
}

// oneOfMany writes a long list by its kinds of values, and what cannot be sent
// so in pieces.
func (e *emitter) oneOfMany(x func(), in query.In) {
	m, not := e.many(in.List), in.Not
	guard := e.guards() && !not && len(m.parts) == 1 && len(m.rest) == 0
	sign := ""
	e.put("(")
	for _, part := range m.parts {
		e.put(sign)
		x()
		if not {
			e.put(" NOT")
		}
		e.put(" IN ")
		e.listed(part, in.Bytes)
		sign = joins(not)
	}
	for part := range slices.Chunk(m.rest, db.MaxIn) {
		e.put(sign)
		e.oneOf(x, query.In{List: part, Not: not})
		sign = joins(not)
	}
	e.put(")")
	if guard {
		e.put(" = 1")
	}
}

func joins(not bool) string {
	if not {
		return " AND "
	}
	return " OR "
}

// guards counts a sub-select that a server may turn into a join, and reports
// whether there are so many that it must be kept from it.
func (e *emitter) guards() bool {
	e.existences++
	return e.existences > maxJoined
}

// compareAny writes the condition that x compares so with one of a long list.
func (e *emitter) compareAny(x query.CompareAny) {
	m := e.many(x.List)
	sign := ""
	e.put("(")
	for _, part := range m.parts {
		e.put(sign, "EXISTS (SELECT 1 FROM ")
		e.listed(part, x.Op == query.LikeOp)
		e.put(" o WHERE ")
		e.expr(x.X)
		e.put(" ", x.Op, " o.v", escapeOf(x.Op), ")")
		sign = " OR "
	}
	for _, v := range m.rest {
		e.put(sign)
		e.expr(x.X)
		e.put(" ", x.Op, " ")
		e.expr(v)
		e.put(escapeOf(x.Op))
		sign = " OR "
	}
	e.put(")")
	if len(m.parts) == 1 && len(m.rest) == 0 {
		e.put(" = 1") // a test, and no join
	}
}

func escapeOf(op string) string {
	if op == query.LikeOp {
		return " ESCAPE '|'"
	}
	return ""
}

// many is a long list by the kinds of its values, and what is left.
type many struct {
	parts []any // []int64, []float64, []string
	rest  []query.Expr
}

func (e *emitter) many(list []query.Expr) many {
	var ints []int64
	var floats []float64
	var texts []string
	var m many
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
	e.put(sql)
	e.args = append(e.args, arg)
}

// ids writes a list of ids.
func (e *emitter) ids(ids []int64) {
	if len(ids) > db.MaxIn {
		e.listed(ids, false)
		return
	}
	text, args := db.InArgs(ids)
	e.put(text)
	e.args = append(e.args, args...)
}
