package query

import (
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/query/token"
)

// operator describes a comparison with values. A new operator needs an entry in operators, a test
// in package token, and a case in the in-memory filter (which filters without SQL).
type operator struct {
	sql  string               // empty for an operator that negates another operator
	fits func(meta.Kind) bool // reports whether the operator applies to values of a kind
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

// applies reports whether a test applies to values of a kind.
func applies(test token.Test, k meta.Kind) bool {
	op, compares := operators[test]
	return !compares || op.fits(k)
}
