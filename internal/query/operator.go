package query

import (
	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/token"
	"github.com/alds-dev/alds/internal/value"
)

// operator is a comparison with values. A new one is a row here, a test of package
// token, and a case of the in-memory filter.
type operator struct {
	sql  string               // negated operators have none: they are the negation of another
	fits func(meta.Kind) bool // whether it compares values of a kind
}

var operators = map[token.Test]operator{
	token.Eq:   {"=", isComparable},
	token.Ne:   {"", isComparable},
	token.Like: {LikeOp, value.IsText},
	token.Lt:   {"<", isOrdered},
	token.Le:   {"<=", isOrdered},
	token.Gt:   {">", isOrdered},
	token.Ge:   {">=", isOrdered},
}

func isComparable(k meta.Kind) bool { return k != meta.Blob }

func isOrdered(k meta.Kind) bool {
	return value.IsNumber(k) || value.IsText(k) || k == meta.Date || k == meta.State || k == meta.Opaque
}

// applies reports whether values of a kind can be tested so.
func applies(test token.Test, k meta.Kind) bool {
	op, compares := operators[test]
	return !compares || op.fits(k)
}
