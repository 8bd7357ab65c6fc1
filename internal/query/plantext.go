package query

import (
	"slices"
	"unicode/utf8"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/query/token"
)

// collated gives computed text the sort order of a column. MySQL accepts no collation for an
// expression that is always NULL.
func collated(x Expr, kind meta.Kind) Expr {
	switch x.(type) {
	case Scalar, If, Switch:
		if value.IsText(kind) && !isNull(x) {
			return Collated{x}
		}
	}
	return x
}

// isNull reports whether an expression is always NULL.
func isNull(x Expr) bool {
	switch x := x.(type) {
	case Null:
		return true
	case If:
		return isNull(x.X)
	case Switch:
		return !slices.ContainsFunc(x, func(g If) bool { return !isNull(g.X) })
	case Scalar:
		return len(x.S.Cells) == 1 && isNull(x.S.Cells[0])
	}
	return false
}

// folded returns the folded form of a text. Equal texts have the same folded form (package
// folding).
func folded(x Expr) Expr {
	switch x := x.(type) {
	case Collated:
		return folded(x.X)
	case Null:
		return x
	case If:
		return If{x.If, folded(x.X)}
	case Switch:
		by := make(Switch, len(x))
		for i, g := range x {
			by[i] = If{g.If, folded(g.X)}
		}
		return by
	case Scalar:
		s := *x.S
		s.Cells = []Expr{folded(s.Cells[0])}
		return Scalar{&s}
	case JSON:
		return Folded{x, x.T, x.Key}
	case ColumnOf:
		switch x.T.Kind {
		case Values:
			return ColumnOf{x.T, "folded"}
		case Audit:
			if x.Name == "comment" {
				return Folded{x, x.T, ""}
			}
			return Folded{X: x} // the audit has no folded forms of other texts
		}
		return Folded{x, x.T, x.Name}
	}
	return Folded{X: x}
}

// equalTexts returns the condition that x is one of some texts. equal are their folded forms, which
// are compared with the folded form of x. If x is the column with an index and all values are
// ASCII, the column itself is also compared, so that the server can use the index. This excludes no
// row, because equal texts have the same place in the order of the column.
func equalTexts(x Expr, equal []Expr, values []Value) Any {
	same := oneOf(folded(x), equal)
	if in, many := same[0].(In); many {
		in.Bytes = true
		same[0] = in
	}
	c, ok := x.(ColumnOf)
	if !ok || c.T.Kind != Asset || c.Name != indexedText {
		return same
	}
	for _, v := range values {
		if !isASCII(v) {
			return same
		}
	}
	return Any{All{oneOf(x, equal)[0], same[0]}}
}

// indexedText is the only text column with which an index begins.
const indexedText = "number"

// isASCII reports whether the text of a value has only ASCII characters. All texts that equal such
// a text have the same place in the order of the database.
func isASCII(v Value) bool {
	for i := range len(v.Text) {
		if v.Text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// plansAlike reports whether comparisons of p with a and with b have the same plan.
func plansAlike(p Path, test token.Test, a, b Value) bool {
	if test == token.Like {
		return isSimple(a.Text) == isSimple(b.Text)
	}
	if test != token.Eq && test != token.Ne || p.Leaf.Attr == nil || p.Leaf.Attr.Place.Column != indexedText {
		return true
	}
	return isASCII(a) == isASCII(b)
}
