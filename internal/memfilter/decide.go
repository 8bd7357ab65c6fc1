package memfilter

import (
	"slices"

	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/change"
	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/folding"
	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/token"
)

// Answer is what memory knows of a filter: yes, no, or that SQL must say.
type Answer uint8

// The answers.
const (
	Unsure Answer = iota
	No
	Yes
)

func answerOf(b bool) Answer {
	if b {
		return Yes
	}
	return No
}

func (a Answer) not() Answer {
	switch a {
	case Yes:
		return No
	case No:
		return Yes
	default:
		return Unsure
	}
}

// View is what memory looks at to decide.
type View struct {
	Now  *change.Version // with all its columns
	Near Near            // the assets around it
	Who  *auth.Actor     // nil: whose rights count is not known yet
}

// Decide says whether the member sees the asset and the filter holds.
func (y *Filter) Decide(v View) Answer {
	seen := y.self.sees(v.Who, v.Now)
	if y.root == nil || seen == No {
		return seen
	}
	if got := y.root.holds(v); got != Yes {
		return got
	}
	return seen
}

// sees says whether a member sees a version that the link leads to.
func (l *link) sees(who *auth.Actor, v *change.Version) Answer {
	switch {
	case !l.secured:
		return Yes
	case who == nil:
		return Unsure
	case who.All:
		return Yes
	}
	id, ok := v.Columns[l.scope].(int64)
	if !ok {
		return answerOf(!l.strict)
	}
	_, reads := slices.BinarySearch(who.Scopes, id)
	return answerOf(reads)
}

// holds evaluates a condition.
func (n *node) holds(v View) Answer {
	switch {
	case n.op == token.And:
		return join(n.kids, v, No)
	case n.op == token.Or:
		return join(n.kids, v, Yes)
	case n.leaf == nil:
		return Unsure
	}
	f := n.leaf
	got := Unsure
	if f.only != nil && !slices.Contains(f.only, v.Now.Type) { // the attribute is not of this type
		got = answerOf(f.test == token.Eq && slices.ContainsFunc(f.term.Values, isNothing))
	} else {
		got = f.holds(v)
	}
	if f.negated {
		return got.not()
	}
	return got
}

// join joins what is known of conditions; end is the answer of one that answers
// for all.
func join(kids []node, v View, end Answer) Answer {
	got := end.not()
	for i := range kids {
		switch kids[i].holds(v) {
		case end:
			return end
		case Unsure:
			got = Unsure
		}
	}
	return got
}

// holds answers the positive term.
func (f *leaf) holds(v View) Answer {
	row := v.Now
	if f.hop != nil {
		var known bool
		if row, known = f.hop.follow(row, v); !known {
			return Unsure
		}
	}
	var value any
	switch {
	case row == nil:
	case f.slot < 0:
		value = row.State
	default:
		value = row.Columns[f.slot]
	}
	var to *meta.Type
	if f.to != nil && value != nil && (f.looks || f.to.secured && (v.Who == nil || !v.Who.All)) {
		if f.hop != nil { // a second relation on
			return Unsure
		}
		related, known := f.to.follow(row, v)
		switch {
		case !known:
			return Unsure
		case related == nil:
			value = nil
		default:
			to = related.Type
		}
	}
	return f.compare(value, to)
}

// follow returns the asset that a relation of a version names, as it was at the
// moment looked at and as the member sees it: nil for none.
func (l *link) follow(from *change.Version, v View) (to *change.Version, known bool) {
	id, ok := from.Columns[l.slot].(int64)
	if !ok {
		return nil, true
	}
	to, known = v.Near.at(id, v.Now.Moment)
	switch {
	case !known || to == nil:
		return nil, known
	case l.only != nil && !slices.Contains(l.only, to.Type):
		return nil, true
	}
	switch l.sees(v.Who, to) {
	case No:
		return nil, true
	case Unsure:
		return nil, false
	default:
		return to, true
	}
}

func isNothing(v query.Value) bool { return v.Kind == query.NoValue }

// compare compares a value: any of the term's values may fit. to is the type of
// the asset that a relation names, where it is known.
func (f *leaf) compare(value any, to *meta.Type) Answer {
	switch f.test {
	case token.Has:
		return present(value)
	case token.Holds:
		if f.flag {
			return Unsure
		}
		return present(value)
	}
	got := No
	for i := range f.term.Values {
		switch f.fits(value, to, &f.term.Values[i]) {
		case Yes:
			return Yes
		case Unsure:
			got = Unsure
		}
	}
	return got
}

// present answers whether there is a value: empty text is none.
func present(value any) Answer {
	if text, ok := value.(string); ok {
		return answerOf(text != "")
	}
	return answerOf(value != nil)
}

func (f *leaf) fits(value any, to *meta.Type, want *query.Value) Answer {
	if want.Kind == query.NoValue && f.test == token.Eq {
		return present(value).not()
	}
	if value == nil {
		return No
	}
	switch have := value.(type) {
	case string:
		return f.fitsText(have, want)
	case int64:
		return f.fitsInt(have, to, want)
	case float64:
		switch want.Kind {
		case query.NumOf:
			return ordered(f.test, have, want.Num)
		case query.IntOf:
			return ordered(f.test, have, float64(want.Int))
		}
	}
	return Unsure
}

// fitsText compares as the databases do; what is wanted is folded where case
// does not count.
func (f *leaf) fitsText(have string, want *query.Value) Answer {
	switch {
	case want.Kind != query.TextOf:
		return Unsure
	case f.test == token.Like:
		return answerOf(db.Like(folding.Of(have), want.Text, '|'))
	case f.test == token.Eq:
		return answerOf(folding.Is(have, want.Text))
	}
	return ordered(f.test, db.Compare(have, want.Text), 0)
}

func (f *leaf) fitsInt(have int64, to *meta.Type, want *query.Value) Answer {
	switch want.Kind {
	case query.RefOf:
		switch {
		case f.test != token.Eq:
			return Unsure
		case have != want.Int:
			return No
		case to != nil:
			return answerOf(slices.Contains(want.Type.Concrete, to))
		case f.looks:
			return Unsure
		}
		return Yes
	case query.IntOf:
		return ordered(f.test, have, want.Int)
	case query.NumOf:
		return ordered(f.test, float64(have), want.Num)
	}
	return Unsure
}

func ordered[T int | int64 | float64](test token.Test, have, want T) Answer {
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
	return Unsure
}
