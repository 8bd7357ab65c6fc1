package memfilter

import (
	"slices"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/folding"
	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/query/token"
	"github.com/alds-dev/alds/internal/store/collation"
)

// Truth is the result of a filter. If it is Unknown, the filter must be evaluated with SQL.
type Truth uint8

// The truth values.
const (
	Unknown Truth = iota
	False
	True
)

func truthOf(b bool) Truth {
	if b {
		return True
	}
	return False
}

func (a Truth) not() Truth {
	switch a {
	case True:
		return False
	case False:
		return True
	default:
		return Unknown
	}
}

// Input contains the data for the evaluation of a filter.
type Input struct {
	Version *change.Version // the version, with all its columns
	Related Related         // the assets to which Version refers
	Actor   *auth.Actor     // the member whose rights are used; nil: the rights are not loaded yet
}

// Evaluate reports whether the actor may see the asset and the filter matches.
func (f *Filter) Evaluate(in Input) Truth {
	visible := f.self.visible(in.Actor, in.Version)
	if f.root == nil || visible == False {
		return visible
	}
	if got := f.root.evaluate(in); got != True {
		return got
	}
	return visible
}

// visible reports whether the actor may see v. v is a version of an asset to which the link refers.
func (l *link) visible(who *auth.Actor, v *change.Version) Truth {
	switch {
	case !l.secured:
		return True
	case who == nil:
		return Unknown
	case who.All:
		return True
	case !who.Bounds.Reads(v.Type):
		return False
	case l.ruled && !v.Type.Seen.IsZero():
		return ruled(who, v)
	}
	id, ok := v.Columns[l.scope].(int64)
	if !ok {
		return truthOf(!l.strict)
	}
	return truthOf(who.Reads(id))
}

// ruled reports whether an actor may see a version whose type has a rule in meta.Type.Seen. Only
// the rule for members can be evaluated in memory. For other rules the result is Unknown.
func ruled(who *auth.Actor, v *change.Version) Truth {
	if !v.Type.Seen.Shared {
		return Unknown
	}
	sees, known := who.SeesMember(v.ID)
	if !known {
		return Unknown
	}
	return truthOf(sees)
}

// evaluate returns the result of the condition n.
func (n *node) evaluate(in Input) Truth {
	switch {
	case n.op == token.And:
		return join(n.kids, in, False)
	case n.op == token.Or:
		return join(n.kids, in, True)
	case n.leaf == nil:
		return Unknown
	}
	f := n.leaf
	got := Unknown
	if f.types != nil && !slices.Contains(f.types, in.Version.Type) { // the asset does not have the attribute
		got = truthOf(f.test == token.Eq && slices.ContainsFunc(f.term.Values, isNothing))
	} else {
		got = f.evaluate(in)
	}
	if f.negated {
		return got.not()
	}
	return got
}

// join evaluates conditions that are joined by And or Or. The parameter end is False for And, and
// True for Or. If one condition has this result, the whole result is also end.
func join(kids []node, in Input, end Truth) Truth {
	got := end.not()
	for i := range kids {
		switch kids[i].evaluate(in) {
		case end:
			return end
		case Unknown:
			got = Unknown
		}
	}
	return got
}

// evaluate returns the result of the term, ignoring its negation.
func (f *leaf) evaluate(in Input) Truth {
	row := in.Version
	if f.hop != nil {
		var known bool
		if row, known = f.hop.follow(row, in); !known {
			return Unknown
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
	if f.to != nil && value != nil && (f.needsType || f.to.secured && (in.Actor == nil || !in.Actor.All)) {
		if f.hop != nil { // assets that are reached by a second relation are not loaded
			return Unknown
		}
		related, known := f.to.follow(row, in)
		switch {
		case !known:
			return Unknown
		case related == nil:
			value = nil
		default:
			to = related.Type
		}
	}
	return f.compare(value, to)
}

// follow returns the asset to which a relation refers, at the moment of in.Version. The result to
// is nil if the relation is empty, or if the actor may not see the asset. The result known is false
// if the asset is not loaded, or if its visibility cannot be decided in memory.
func (l *link) follow(from *change.Version, in Input) (to *change.Version, known bool) {
	id, ok := from.Columns[l.slot].(int64)
	if !ok {
		return nil, true
	}
	to, known = in.Related.at(id, in.Version.Moment)
	switch {
	case !known || to == nil:
		return nil, known
	case l.types != nil && !slices.Contains(l.types, to.Type):
		return nil, true
	}
	switch l.visible(in.Actor, to) {
	case False:
		return nil, true
	case Unknown:
		return nil, false
	default:
		return to, true
	}
}

func isNothing(v query.Value) bool { return v.Kind == query.NoValue }

// compare reports whether one of the values in the term matches the stored value. The parameter to
// is the type of the asset to which the stored value refers, or nil if this type is not known.
func (f *leaf) compare(value any, to *meta.Type) Truth {
	switch f.test {
	case token.Has:
		return present(value)
	case token.Holds:
		if f.boolean {
			return Unknown
		}
		return present(value)
	}
	got := False
	for i := range f.term.Values {
		switch f.matches(value, to, &f.term.Values[i]) {
		case True:
			return True
		case Unknown:
			got = Unknown
		}
	}
	return got
}

// present reports whether there is a value. An empty text counts as no value.
func present(value any) Truth {
	if text, ok := value.(string); ok {
		return truthOf(text != "")
	}
	return truthOf(value != nil)
}

func (f *leaf) matches(value any, to *meta.Type, want *query.Value) Truth {
	if want.Kind == query.NoValue && f.test == token.Eq {
		return present(value).not()
	}
	if value == nil {
		return False
	}
	switch have := value.(type) {
	case string:
		return f.matchesText(have, want)
	case int64:
		return f.matchesInt(have, to, want)
	case float64:
		switch want.Kind {
		case query.NumOf:
			return ordered(f.test, have, want.Num)
		case query.IntOf:
			return ordered(f.test, have, float64(want.Int))
		}
	}
	return Unknown
}

// matchesText compares texts in the same way as SQL does. If the comparison ignores case, the text
// of the value want is already in its folded form (without differences in case).
func (f *leaf) matchesText(have string, want *query.Value) Truth {
	switch {
	case want.Kind != query.TextOf:
		return Unknown
	case f.test == token.Like:
		return truthOf(collation.Like(folding.Of(have), want.Text, '|'))
	case f.test == token.Eq:
		return truthOf(folding.Is(have, want.Text))
	}
	return ordered(f.test, collation.Compare(have, want.Text), 0)
}

func (f *leaf) matchesInt(have int64, to *meta.Type, want *query.Value) Truth {
	switch want.Kind {
	case query.RefOf:
		switch {
		case f.test != token.Eq:
			return Unknown
		case have != want.Int:
			return False
		case to != nil:
			return truthOf(slices.Contains(want.Type.Concrete, to))
		case f.needsType:
			return Unknown
		}
		return True
	case query.IntOf:
		return ordered(f.test, have, want.Int)
	case query.NumOf:
		return ordered(f.test, float64(have), want.Num)
	}
	return Unknown
}

func ordered[T int | int64 | float64](test token.Test, have, want T) Truth {
	switch test {
	case token.Eq:
		return truthOf(have == want)
	case token.Lt:
		return truthOf(have < want)
	case token.Le:
		return truthOf(have <= want)
	case token.Gt:
		return truthOf(have > want)
	case token.Ge:
		return truthOf(have >= want)
	}
	return Unknown
}
