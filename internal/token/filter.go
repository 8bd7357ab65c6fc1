package token

import "strings"

// Filter is a condition over one asset: a term, or terms joined.
type Filter struct {
	Op   Op
	Kids []Filter // And, Or: two or more
	Term Term     // Leaf
}

// Op says how a Filter is made.
type Op uint8

// The ways to make a filter.
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

// Test is what a term asks of its path.
type Test uint8

// The tests. Holds is the bare attribute: true for a Boolean, present for
// everything else.
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

// String prints the comparison sign; tests without values print as nothing.
func (t Test) String() string { return testText[t] }

// Positive returns the test that t negates, if it negates one: a negated test holds
// exactly where the positive one does not.
func (t Test) Positive() (positive Test, negated bool) {
	switch t {
	case Ne:
		return Eq, true
	case Lacks:
		return Has, true
	}
	return t, false
}

// Value is one value a term compares with.
type Value struct {
	Kind ValueKind
	Text string // Text: the text without quotes and doubling; Var: the name without $
	At   int    // byte offset of the value
}

// ValueKind tells literal text from what a value stands for.
type ValueKind uint8

// The kinds of value.
const (
	Text    ValueKind = iota
	Var               // $Name, given beside the query
	Context           // $ alone: the asset around the brackets
)

// String prints f; ParseFilter reads it back to an equal filter.
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

// String prints t as a filter of its own.
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
