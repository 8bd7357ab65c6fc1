package webhook

import (
	"slices"

	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/change"
	"github.com/alds-dev/alds/internal/db"
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

// view is what memory looks at to decide.
type view struct {
	now  *change.Version
	near near        // the assets around it
	who  *auth.Actor // nil: whose rights count is not known yet
}

// decide says whether the member sees the asset and the filter holds.
func (y *memory) decide(v view) answer {
	seen := y.self.sees(v.who, v.now)
	if y.root == nil || seen == no {
		return seen
	}
	if got := y.root.holds(v); got != yes {
		return got
	}
	return seen
}

// sees says whether a member sees a version that the link leads to.
func (l *link) sees(who *auth.Actor, v *change.Version) answer {
	switch {
	case !l.secured:
		return yes
	case who == nil:
		return unsure
	case who.All:
		return yes
	}
	id, ok := v.Columns[l.scope].(int64)
	if !ok {
		return answerOf(!l.strict)
	}
	_, reads := slices.BinarySearch(who.Scopes, id)
	return answerOf(reads)
}

// holds evaluates a condition.
func (n *node) holds(v view) answer {
	switch {
	case n.op == token.And:
		return join(n.kids, v, no)
	case n.op == token.Or:
		return join(n.kids, v, yes)
	case n.leaf == nil:
		return unsure
	}
	f := n.leaf
	got := unsure
	if f.only != nil && !slices.Contains(f.only, v.now.Type) { // the attribute is not of this type
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
func join(kids []node, v view, end answer) answer {
	got := end.not()
	for i := range kids {
		switch kids[i].holds(v) {
		case end:
			return end
		case unsure:
			got = unsure
		}
	}
	return got
}

// holds answers the positive term.
func (f *leaf) holds(v view) answer {
	row := v.now
	if f.hop != nil {
		var known bool
		if row, known = f.hop.follow(row, v); !known {
			return unsure
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
	if f.to != nil && value != nil && (f.looks || f.to.secured && (v.who == nil || !v.who.All)) {
		if f.hop != nil { // a second relation on
			return unsure
		}
		related, known := f.to.follow(row, v)
		switch {
		case !known:
			return unsure
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
func (l *link) follow(from *change.Version, v view) (to *change.Version, known bool) {
	id, ok := from.Columns[l.slot].(int64)
	if !ok {
		return nil, true
	}
	to, known = v.near.at(id, v.now.Moment)
	switch {
	case !known || to == nil:
		return nil, known
	case l.only != nil && !slices.Contains(l.only, to.Type):
		return nil, true
	}
	switch l.sees(v.who, to) {
	case no:
		return nil, true
	case unsure:
		return nil, false
	default:
		return to, true
	}
}

func isNothing(v query.Value) bool { return v.Kind == query.NoValue }

// compare compares a value: any of the term's values may fit. to is the type of
// the asset that a relation names, where it is known.
func (f *leaf) compare(value any, to *meta.Type) answer {
	switch f.test {
	case token.Has:
		return present(value)
	case token.Holds:
		if f.flag {
			return unsure
		}
		return present(value)
	}
	got := no
	for i := range f.term.Values {
		switch f.fits(value, to, &f.term.Values[i]) {
		case yes:
			return yes
		case unsure:
			got = unsure
		}
	}
	return got
}

// present answers whether there is a value: empty text is none, and so is text
// that sorts like it.
func present(value any) answer {
	if text, ok := value.(string); ok {
		return answerOf(db.Compare(text, "") != 0)
	}
	return answerOf(value != nil)
}

func (f *leaf) fits(value any, to *meta.Type, want *query.Value) answer {
	if want.Kind == query.NoValue && f.test == token.Eq {
		return present(value).not()
	}
	if value == nil {
		return no
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
	return unsure
}

// fitsText compares as the databases do.
func (f *leaf) fitsText(have string, want *query.Value) answer {
	switch {
	case want.Kind != query.TextOf:
		return unsure
	case f.test == token.Like:
		return answerOf(db.Like(have, want.Text, '|'))
	case f.test == token.Eq && have == want.Text:
		return yes
	}
	return ordered(f.test, db.Compare(have, want.Text), 0)
}

func (f *leaf) fitsInt(have int64, to *meta.Type, want *query.Value) answer {
	switch want.Kind {
	case query.RefOf:
		switch {
		case f.test != token.Eq:
			return unsure
		case have != want.Int:
			return no
		case to != nil:
			return answerOf(slices.Contains(want.Type.Concrete, to))
		case f.looks:
			return unsure
		}
		return yes
	case query.IntOf:
		return ordered(f.test, have, want.Int)
	case query.NumOf:
		return ordered(f.test, float64(have), want.Num)
	}
	return unsure
}

func ordered[T int | int64 | float64](test token.Test, have, want T) answer {
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
