package token

import "strings"

// Filter is a condition on one asset: one term, or several filters joined by And or Or.
type Filter struct {
	Op   Op
	Kids []Filter // And, Or: two or more
	Term Term     // Leaf
}

// Op is the kind of a Filter.
type Op uint8

// The kinds of filters.
const (
	Leaf Op = iota
	And
	Or
)

// Term is one comparison, or a test whether a value exists.
//
//	Status.Name='Done','Accepted'   {Path, Eq, two values}
//	+Owners                         {Path, Has}
type Term struct {
	Path   Path
	Test   Test
	Values []Value // empty for Holds, Has and Lacks
	At     int     // byte offset of the term
}

// Test is the condition of a term on its path.
type Test uint8

// The tests. Holds tests an attribute without an operator: a Boolean must be true, and an attribute
// of any other kind must have a value.
const (
	Holds Test = iota
	Has
	Lacks
	Eq
	Ne
	Lt
	Le
	Gt
	Ge
	Like
)

var testText = [...]string{Eq: "=", Ne: "!=", Lt: "<", Le: "<=", Gt: ">", Ge: ">=", Like: "~="}

// String returns the comparison sign, or "" for a test without values.
func (t Test) String() string { return testText[t] }

// Positive returns the test that t negates, and true, if t is Ne or Lacks. Otherwise it returns t
// and false. A negated test holds exactly when the positive test does not hold.
func (t Test) Positive() (positive Test, negated bool) {
	switch t {
	case Ne:
		return Eq, true
	case Lacks:
		return Has, true
	}
	return t, false
}

// Value is one value that a term compares with its path.
type Value struct {
	Kind ValueKind
	Text string // Text: the text without outer quotes, doubled quotes as one; Var: the name without $
	At   int    // byte offset of the value
}

// ValueKind is the kind of a value: literal text or a reference.
type ValueKind uint8

// The kinds of value.
const (
	Text    ValueKind = iota
	Var               // $Name, a variable whose values are in the request
	Context           // $ alone: the asset of the row, also inside brackets
)

// String prints f as text. ParseFilter parses this text to an equal filter.
func (f Filter) String() string {
	var b strings.Builder
	f.print(&b)
	return b.String()
}

func (f Filter) print(b *strings.Builder) {
	if f.Op == Leaf {
		f.Term.print(b)
		return
	}
	sign := byte(';')
	if f.Op == Or {
		sign = '|'
	}
	for i, k := range f.Kids {
		if i > 0 {
			b.WriteByte(sign)
		}
		if k.Op == Leaf || f.Op == Or && k.Op == And {
			k.print(b)
			continue
		}
		b.WriteByte('(')
		k.print(b)
		b.WriteByte(')')
	}
}

// String prints t as a filter.
func (t Term) String() string {
	var b strings.Builder
	t.print(&b)
	return b.String()
}

func (t Term) print(b *strings.Builder) {
	switch t.Test {
	case Has:
		b.WriteByte('+')
	case Lacks:
		b.WriteByte('-')
	}
	t.Path.print(b)
	b.WriteString(t.Test.String())
	for i, v := range t.Values {
		if i > 0 {
			b.WriteByte(',')
		}
		v.print(b)
	}
}

var doubled = strings.NewReplacer(`'`, `''`, `"`, `""`)

func (v Value) print(b *strings.Builder) {
	switch v.Kind {
	case Text:
		b.WriteByte('\'')
		b.WriteString(doubled.Replace(v.Text))
		b.WriteByte('\'')
	case Var:
		b.WriteByte('$')
		b.WriteString(v.Text)
	case Context:
		b.WriteByte('$')
	}
}
