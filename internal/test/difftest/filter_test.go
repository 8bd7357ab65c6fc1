package difftest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query/token"
)

// holds reports whether the asset n matches the filter f. The names in the filter are attributes of a type,
// the parameter on. In the filter, $ stands for the asset ctx.
func (e *evaluator) holds(ctx, n node, on *meta.Type, f token.Filter) bool {
	switch f.Op {
	case token.And:
		return !slices.ContainsFunc(f.Kids, func(k token.Filter) bool { return !e.holds(ctx, n, on, k) })
	case token.Or:
		return slices.ContainsFunc(f.Kids, func(k token.Filter) bool { return e.holds(ctx, n, on, k) })
	}
	t := f.Term
	switch t.Test {
	case token.Ne:
		t.Test = token.Eq
		return !e.some(ctx, n, on, t)
	case token.Lacks:
		t.Test = token.Has
		return !e.some(ctx, n, on, t)
	}
	return e.some(ctx, n, on, t)
}

// some reports whether at least one of the values at the end of a term's path passes the test of the term.
func (e *evaluator) some(ctx, n node, on *meta.Type, t token.Term) bool {
	p := bind(e.w.m, on, t.Path)
	return slices.ContainsFunc(e.values(ctx, n, p, toTest), func(v any) bool { return e.passes(ctx, v, p, t) })
}

func (e *evaluator) passes(ctx node, v any, p path, t token.Term) bool {
	switch {
	case t.Test == token.Has, t.Test == token.Holds && p.kind != meta.Boolean:
		return !missing(v)
	case t.Test == token.Holds:
		return v == true
	}
	for _, w := range t.Values {
		texts := []string{w.Text}
		switch w.Kind {
		case token.Context:
			if x, ok := v.(node); ok && !x.none() && x.id == ctx.id {
				return true
			}
			continue
		case token.Var:
			texts = e.with[w.Text]
		}
		if slices.ContainsFunc(texts, func(s string) bool { return e.compares(v, p, t.Test, s) }) {
			return true
		}
	}
	return false
}

// compares reports whether the value v passes a comparison with the text s from the query.
func (e *evaluator) compares(v any, p path, test token.Test, s string) bool {
	if test == token.Like {
		x, ok := v.(string)
		return ok && contains(x, s, true)
	}
	if s == "" || p.kind == meta.Relation && s == oid.Null {
		return missing(v)
	}
	if v == nil {
		return false
	}
	switch p.kind {
	case meta.Relation:
		x := v.(node)
		return !x.none() && x.shown(false) == momentless(s)
	case meta.AssetType:
		return v.(*meta.Type).Name == s
	case meta.State:
		if strings.EqualFold(s, "Dead") {
			return v.(int64) >= 200
		}
	}
	want := typed(p.kind, s)
	if a := p.leaf.attr; p.kind == meta.Date && a != nil && a.DateOnly {
		want = onCalendar(s)
	}
	if test == token.Eq {
		return alike(v, want)
	}
	c := order(v, want)
	switch test {
	case token.Lt:
		return c < 0
	case token.Le:
		return c <= 0
	case token.Gt:
		return c > 0
	case token.Ge:
		return c >= 0
	}
	panic(fmt.Sprint("no test ", test))
}

func momentless(s string) string {
	parts := strings.SplitN(s, ":", 3)
	return parts[0] + ":" + parts[1]
}

// aggregate returns the aggregate of all values at the end of a path.
func (e *evaluator) aggregate(ctx, n node, p path) any {
	q := p
	q.agg = ""
	var all []any
	for _, v := range e.values(ctx, n, q, toGather) {
		if x, ok := v.(node); v != nil && (!ok || !x.none()) {
			all = append(all, v)
		}
	}
	slices.SortStableFunc(all, order)
	switch p.agg {
	case "Count":
		return float64(len(all))
	case "DistinctCount":
		return float64(len(distinct(all)))
	}
	if len(all) == 0 {
		return nil
	}
	switch p.agg {
	case "Sum":
		var sum float64
		for _, v := range all {
			sum += float(v)
		}
		return sum
	case "Min":
		return float(all[0])
	case "Max":
		return float(all[len(all)-1])
	case "MinDate", "And":
		return all[0]
	case "MaxDate", "Or", "MaxState":
		return all[len(all)-1]
	}
	panic("no aggregate " + p.agg)
}

func distinct(all []any) (found []any) {
	for _, v := range all {
		if !slices.ContainsFunc(found, func(f any) bool { return alike(f, v) }) {
			found = append(found, v)
		}
	}
	return found
}

func float(v any) float64 {
	if n, ok := v.(int64); ok {
		return float64(n)
	}
	return v.(float64)
}
