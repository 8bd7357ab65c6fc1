package query

import (
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/query/token"
)

// oneOf returns the condition that x is in a list. The result has one element. It is nil if the
// list is empty.
func oneOf(x Expr, list []Expr) Any {
	switch len(list) {
	case 0:
		return nil
	case 1:
		return Any{Compare{"=", x, list[0]}}
	}
	return Any{In{X: x, List: list}}
}

func oneOrAny(alts Any) Expr {
	if len(alts) == 1 {
		return alts[0]
	}
	return alts
}

// compare compares a scalar with the values of a term. One of the values must satisfy the
// comparison.
func compare(x Expr, kind meta.Kind, tm Term) Expr {
	x = collated(x, kind)
	switch tm.Test {
	case token.Holds:
		if kind == meta.Boolean {
			return Compare{"=", x, Num{1}}
		}
		return present(x, kind)
	case token.Has:
		return present(x, kind)
	}
	var alts Any
	var equal []Expr
	switch op := anyOp(tm); op {
	case "":
	case LikeOp:
		return CompareAny{folded(x), op, args(tm.Values)}
	default:
		return CompareAny{x, op, args(tm.Values)}
	}
	for _, v := range tm.Values {
		switch {
		case tm.Test == token.Like:
			alts = append(alts, Like{folded(x), v.arg(), isSimple(v.Text)})
		case v.Kind == NoValue:
			alts = append(alts, negate(present(x, kind)))
		case v.Kind == DeadOf:
			alts = append(alts, deadTest(x, tm.Test))
		case v.Kind == TypeOf:
			if len(v.Type.Children) == 0 {
				equal = append(equal, Num{int64(v.Type.Code)})
			}
		case tm.Test == token.Eq && tm.Path.isWhole():
			if n := int64(v.Num); float64(n) == v.Num {
				equal = append(equal, Arg{n})
			}
		case tm.Test == token.Eq:
			equal = append(equal, v.arg())
		default:
			alts = append(alts, Compare{operators[tm.Test].sql, x, v.arg()})
		}
	}
	same := oneOf(x, equal)
	if value.IsText(kind) && len(equal) > 0 {
		same = equalTexts(x, equal, tm.Values)
	}
	return oneOrAny(append(same, alts...))
}

// maxListed is the maximum number of values for which a comparison has one condition per value.
const maxListed = 500

// anyOp returns the SQL operator of a comparison with more than maxListed values. All these values
// become one condition, CompareAny. anyOp returns "" for fewer values, for values of other kinds,
// and for an equality, which uses IN.
func anyOp(tm Term) string {
	plain := func(v Value) bool { return v.Kind == NumOf || v.Kind == IntOf || v.Kind == TextOf }
	if len(tm.Values) <= maxListed || tm.Test == token.Eq || slices.ContainsFunc(tm.Values, func(v Value) bool { return !plain(v) }) {
		return ""
	}
	return operators[tm.Test].sql
}

func args(values []Value) []Expr {
	list := make([]Expr, len(values))
	for i, v := range values {
		list[i] = v.arg()
	}
	return list
}

// deadTest compares a state with Dead, which means every state of 200 or more.
func deadTest(x Expr, test token.Test) Expr {
	switch test {
	case token.Lt:
		return Compare{"<", x, Num{meta.StateDead}}
	case token.Le:
		return IsNull{x, true}
	case token.Gt:
		return Any{}
	}
	return Compare{">=", x, Num{meta.StateDead}}
}

// present returns the condition that x is neither null nor empty text.
func present(x Expr, kind meta.Kind) Expr {
	if value.IsText(kind) {
		return Compare{"<>", Bytes{x}, Arg{""}}
	}
	return IsNull{x, true}
}

func (v Value) arg() Arg {
	if v.slot != 0 {
		return Arg{v.slot}
	}
	return Arg{v.plain()}
}

// plain returns the value as an SQL argument.
func (v Value) plain() any {
	switch v.Kind {
	case NumOf:
		return v.Num
	case TextOf:
		return v.Text
	}
	return v.Int
}
