package webhook

import (
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/change"
	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/token"
)

// answer is what memory knows of a filter: yes, no, or that SQL must say.
type answer uint8

const (
	unsure answer = iota
	no
	yes
)

func answerOf(b bool) answer {
	if b {
		return yes
	}
	return no
}

func (a answer) not() answer {
	switch a {
	case yes:
		return no
	case no:
		return yes
	default:
		return unsure
	}
}

// memoryFilter binds filters for memory; nil when no part of them can be
// decided there.
func memoryFilter(m *meta.Model, from string, filters []string, with map[string][]string) *query.Cond {
	r := query.Request{From: query.Text{Text: from}, With: with}
	for _, f := range filters {
		r.Filter = append(r.Filter, query.Text{Text: f})
	}
	b, err := query.Bind(m, r)
	if err != nil || b.Filter == nil || !decidable(b.Filter) {
		return nil
	}
	return b.Filter
}

// decidable reports whether some term of the condition touches only the asset
// and the assets its columns name.
func decidable(c *query.Cond) bool {
	if c.Op == token.Leaf {
		return operand(&c.Term) != nil
	}
	return slices.ContainsFunc(c.Kids, func(k query.Cond) bool { return decidable(&k) })
}

// operand is the attribute that a term compares when it lies in the asset's own
// row; else nil.
func operand(t *query.Term) *meta.Attr {
	p := &t.Path
	var a *meta.Attr
	switch {
	case p.Agg != query.None:
	case len(p.Steps) == 0:
		a = p.Leaf.Attr
	case len(p.Steps) == 1 && p.IsRelation():
		if s := &p.Steps[0]; s.Only == nil && s.Filter == nil && !s.Now {
			a = s.Attr
		}
	}
	if a == nil || a.Multi || a.Place.Kind != meta.InColumn || a.Place.Slot < 0 && a.Kind != meta.State {
		return nil
	}
	return a
}

// decide evaluates a condition on a version, as SQL would.
func decide(c *query.Cond, v *change.Version) answer {
	switch c.Op {
	case token.And:
		return decideAll(c.Kids, v, no)
	case token.Or:
		return decideAll(c.Kids, v, yes)
	}
	t := &c.Term
	a := operand(t)
	if a == nil {
		return unsure
	}
	test, negated := t.Test, false
	switch test {
	case token.Ne:
		test, negated = token.Eq, true
	case token.Lacks:
		test, negated = token.Has, true
	}
	var value any = v.State
	if a.Place.Slot >= 0 {
		value = v.Columns[a.Place.Slot]
	}
	got := compare(t, a, test, value)
	if t.Path.Only != nil && !slices.Contains(t.Path.Only, v.Type) { // the attribute is not of this type
		got = answerOf(test == token.Eq && slices.ContainsFunc(t.Values, isNothing))
	}
	if negated {
		return got.not()
	}
	return got
}

// decideAll joins what is known of conditions; end is the answer of one that
// answers for all.
func decideAll(kids []query.Cond, v *change.Version, end answer) answer {
	got := end.not()
	for i := range kids {
		switch decide(&kids[i], v) {
		case end:
			return end
		case unsure:
			got = unsure
		}
	}
	return got
}

func isNothing(v query.Value) bool { return v.Kind == query.NoValue }

// compare answers a positive test of a value: any of the term's values may fit.
func compare(t *query.Term, a *meta.Attr, test token.Test, value any) answer {
	switch test {
	case token.Has:
		return present(value)
	case token.Holds:
		if a.Kind == meta.Boolean {
			return unsure
		}
		return present(value)
	case token.Like:
		if value == nil {
			return no
		}
		return unsure
	}
	got := no
	for i := range t.Values {
		switch fits(t, test, value, &t.Values[i]) {
		case yes:
			return yes
		case unsure:
			got = unsure
		}
	}
	return got
}

// present answers whether there is a value: empty text is none, and so may be
// text that sorts like it.
func present(value any) answer {
	if text, ok := value.(string); ok {
		if text == "" {
			return no
		}
		if isPlain(text) {
			return yes
		}
		return unsure
	}
	return answerOf(value != nil)
}

func fits(t *query.Term, test token.Test, value any, want *query.Value) answer {
	if want.Kind == query.NoValue {
		return present(value).not()
	}
	if value == nil {
		return no
	}
	switch have := value.(type) {
	case string:
		if want.Kind == query.TextOf && test == token.Eq {
			return sameText(have, want.Text)
		}
	case int64:
		return fitsInt(t, test, have, want)
	case float64:
		switch want.Kind {
		case query.NumOf:
			return ordered(test, have, want.Num)
		case query.IntOf:
			return ordered(test, have, float64(want.Int))
		}
	}
	return unsure
}

func fitsInt(t *query.Term, test token.Test, have int64, want *query.Value) answer {
	switch want.Kind {
	case query.RefOf:
		if test != token.Eq {
			return unsure
		}
		if have == want.Int && len(t.Path.To().Concrete) != 1 {
			return unsure // it may be an asset of another type
		}
		return answerOf(have == want.Int)
	case query.IntOf:
		return ordered(test, have, want.Int)
	case query.NumOf:
		return ordered(test, float64(have), want.Num)
	}
	return unsure
}

func ordered[T int64 | float64](test token.Test, have, want T) answer {
	switch test {
	case token.Eq:
		return answerOf(have == want)
	case token.Lt:
		return answerOf(have < want)
	case token.Le:
		return answerOf(have <= want)
	case token.Gt:
		return answerOf(have > want)
	case token.Ge:
		return answerOf(have >= want)
	}
	return unsure
}

// sameText answers whether two texts are equal to the databases, as far as
// letters and digits without accents go.
func sameText(a, b string) answer {
	switch {
	case a == b:
		return yes
	case isPlain(a) && isPlain(b):
		return answerOf(strings.EqualFold(a, b))
	}
	return unsure
}

// isPlain reports whether a text is only ASCII letters and digits, and some.
func isPlain(s string) bool {
	for _, c := range []byte(s) {
		if letter := c | 0x20; (letter < 'a' || letter > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
