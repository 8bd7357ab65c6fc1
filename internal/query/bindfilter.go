package query

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/base/folding"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/query/token"
	"github.com/alds-dev/alds/internal/store/collation"
)

// cond binds a filter on assets of the type in the parameter on.
func (b *binder) cond(on *meta.Type, f token.Filter) (Cond, error) {
	if f.Op == token.Leaf {
		t, err := b.term(on, f.Term)
		return Cond{Term: t}, badTerm(f.Term, err)
	}
	c := Cond{Op: f.Op}
	for _, k := range f.Kids {
		kid, err := b.cond(on, k)
		if err != nil {
			return Cond{}, err
		}
		c.Kids = append(c.Kids, kid)
	}
	return c, nil
}

// badTerm replaces err by the interface's error for an invalid filter, whose message has the text
// of the term t. It returns err unchanged if the message already has the text of a term inside t,
// and for errors about limits and aliases.
func badTerm(t token.Term, err error) error {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Kind != fault.Invalid || isLimit(e) || errors.Is(e, errAlias) || strings.HasPrefix(e.Msg, token.BadFilterPrefix) {
		return err
	}
	return token.BadFilter(t.String(), e.At, err)
}

func (b *binder) term(on *meta.Type, src token.Term) (Term, error) {
	if b.derivedDepth == 0 {
		if *b.terms++; *b.terms > MaxTerms {
			return Term{}, tooMany(src.At, "comparisons in one query", MaxTerms)
		}
	}
	p, err := b.path(on, src.Path)
	if err != nil {
		return Term{}, err
	}
	if last := src.Path.Hops[len(src.Path.Hops)-1].Name; p.Agg == None && (last == "IsDeleted" || last == "AssetState") && len(p.Steps) == 0 {
		b.mentionsState = true
	}
	t := Term{Path: p, Test: src.Test}
	if !applies(t.Test, p.Kind()) && !testsNull(src) {
		return Term{}, badToken(src.At, src.Path.String(), t.Test.String()+" does not apply to "+string(p.Kind()))
	}
	n, err := b.countValues(src)
	if err != nil {
		return Term{}, err
	}
	ordered := n > 1 && isOrder(t.Test)
	for _, v := range src.Values {
		for i, text := range b.expand(v) {
			bound, err := b.value(p, t.Test, text)
			if err != nil {
				return Term{}, err
			}
			bound.slot = b.slotOf(p, t.Test, v, i, bound, ordered)
			t.Values = append(t.Values, bound)
		}
	}
	if len(src.Values) > 0 && len(t.Values) == 0 {
		return Term{}, badToken(src.Values[0].At, src.Path.String(), "$"+src.Values[0].Text+" has no value")
	}
	if len(t.Values) > maxListed {
		t.Values = distinct(t.Values)
	}
	t.Values = deciding(t.Test, t.Values)
	return t, b.countText(src.At, t.Values)
}

// countValues returns the number of values of a comparison, or an error if the comparison or the
// whole query has too many, or too many bytes of them. It runs before any value is bound, because a
// variable with many values may be used many times, and each use binds all of them again.
func (b *binder) countValues(src token.Term) (n int, err error) {
	for _, v := range src.Values {
		if v.Kind != token.Var {
			n++
			*b.given += len(v.Text)
			continue
		}
		n += len(b.with[v.Text])
		for _, text := range b.with[v.Text] {
			*b.given += len(text)
		}
	}
	if n > token.MaxValues {
		return n, tooMany(src.At, "values in a list", token.MaxValues)
	}
	if *b.values += n; *b.values > MaxValues {
		return n, tooMany(src.At, "values in one query", MaxValues)
	}
	if *b.given > MaxText {
		return n, tooMany(src.At, "bytes of text to compare with", MaxText)
	}
	return n, nil
}

// isOrder reports whether a test compares by order.
func isOrder(t token.Test) bool {
	return t == token.Gt || t == token.Ge || t == token.Lt || t == token.Le
}

// deciding returns the values that decide a comparison with several values. Example: a number is
// less than one of the values if it is less than the largest, so only the largest is returned. Texts
// have the order of the databases. A value with a slot is not known yet; deciding then returns all
// values.
func deciding(test token.Test, values []Value) []Value {
	var order func(a, b Value) int
	switch test {
	case token.Gt, token.Ge:
		order = inOrder
	case token.Lt, token.Le:
		order = func(a, b Value) int { return inOrder(b, a) }
	}
	known := func(v Value) bool {
		return v.slot == 0 && v.Kind == values[0].Kind && (v.Kind == NumOf || v.Kind == IntOf || v.Kind == TextOf)
	}
	if order == nil || len(values) < 2 || slices.ContainsFunc(values, func(v Value) bool { return !known(v) }) {
		return values
	}
	return []Value{slices.MinFunc(values, order)}
}

func inOrder(a, b Value) int {
	return cmp.Or(cmp.Compare(a.Num, b.Num), cmp.Compare(a.Int, b.Int), collation.Compare(a.Text, b.Text))
}

// distinct returns the values without duplicates, in their order.
func distinct(values []Value) []Value {
	seen := make(map[Value]bool, len(values))
	return slices.DeleteFunc(values, func(v Value) bool {
		twice := seen[v]
		seen[v] = true
		return twice
	})
}

// countText returns an error if the texts of all values so far are too long together. A statement
// must fit into the largest packet of the database server.
func (b *binder) countText(at int, values []Value) error {
	for _, v := range values {
		*b.text += len(v.Text)
	}
	if *b.text > MaxText {
		return tooMany(at, "bytes of text to compare with", MaxText)
	}
	return nil
}

// testsNull reports whether a term compares only with empty text, by Eq or Ne. Such a comparison
// tests whether the attribute has a value, which attributes of every kind allow.
func testsNull(t token.Term) bool {
	return (t.Test == token.Eq || t.Test == token.Ne) &&
		!slices.ContainsFunc(t.Values, func(v token.Value) bool { return v.Kind != token.Text || v.Text != "" })
}

// expand returns the values of a variable. For any other value it returns the value itself.
func (b *binder) expand(v token.Value) []token.Value {
	if v.Kind != token.Var {
		return []token.Value{v}
	}
	var list []token.Value
	for _, text := range b.with[v.Text] {
		list = append(list, token.Value{Text: text, At: v.At})
	}
	return list
}

// value converts the text of v to a value of the kind of the path p, which is compared with it.
func (b *binder) value(p Path, test token.Test, v token.Value) (Value, error) {
	k := p.Kind()
	if v.Kind == token.Context {
		if k != meta.Relation {
			return Value{}, badToken(v.At, p.Text, "$ is an asset")
		}
		return Value{Kind: ContextOf, Type: b.row}, nil
	}
	if v.Text == "" && test != token.Like {
		if test != token.Eq && test != token.Ne {
			return Value{}, badToken(v.At, p.Text, "nothing to compare with")
		}
		return Value{Kind: NoValue}, nil
	}
	switch {
	case test == token.Like:
		return Value{Kind: TextOf, Text: likePattern(folding.Of(v.Text))}, nil
	case k == meta.Relation:
		return b.reference(p, v)
	case k == meta.AssetType:
		return b.typeValue(v)
	}
	bound, ok := scalar(k, p.dayOnly(), v.Text)
	if !ok {
		return Value{}, badToken(v.At, p.Text, v.Text+" is no "+string(k))
	}
	if value.IsText(k) && (test == token.Eq || test == token.Ne) {
		bound.Text = folding.Of(bound.Text)
	}
	return bound, nil
}

// scalar converts a text to a value of kind k, by the same rules as a write. There are two
// differences. A date keeps its time of day, even if dayOnly is true. A state may be Dead, which
// means every state of 200 or more. scalar returns false if the text is no value of the kind.
func scalar(k meta.Kind, dayOnly bool, text string) (Value, bool) {
	if k == meta.State && strings.EqualFold(text, "Dead") {
		return Value{Kind: DeadOf}, true
	}
	x, ok := value.Operand(k, dayOnly, text)
	switch x := x.(type) {
	case bool:
		if x {
			return Value{Kind: BoolOf, Int: 1}, ok
		}
		return Value{Kind: BoolOf}, ok
	case float64:
		return Value{Kind: NumOf, Num: x}, ok
	case int64:
		return Value{Kind: IntOf, Int: x}, ok
	case string:
		return Value{Kind: TextOf, Text: x}, ok
	}
	return Value{}, false
}

// reference reads an Oid token or an alias. The moment of an Oid is ignored.
func (b *binder) reference(p Path, v token.Value) (Value, error) {
	text := v.Text
	if strings.HasPrefix(text, "@") {
		target := ""
		if b.alias != nil {
			target = b.alias(text)
		}
		if target == "" {
			return Value{}, unresolved(v.At, text)
		}
		text = target
	}
	o, err := oid.Parse(text)
	if err != nil {
		return Value{}, invalidOID(v.At, v.Text)
	}
	if o.IsNull() {
		return Value{Kind: NoValue}, nil
	}
	t, ok := b.m.Type(o.Type)
	if !ok {
		return Value{}, invalidOID(v.At, v.Text)
	}
	if to := p.To(); !t.IsA(to) && !to.IsA(t) && !p.reaches(t) {
		return Value{}, badToken(v.At, p.Text, t.Name+" is no kind of "+to.Name)
	}
	return Value{Kind: RefOf, Type: t, Int: t.Stored(o.ID)}, nil
}

func (b *binder) typeValue(v token.Value) (Value, error) {
	t, ok := b.m.Type(v.Text)
	if !ok {
		return Value{}, unknownType(v.At, v.Text)
	}
	return Value{Kind: TypeOf, Type: t}, nil
}
