package sqlgen

import (
	"strings"

	"github.com/alds-dev/alds/internal/base/fault"
)

const (
	// MaxNesting limits the sum of the depths of all nested SELECTs of a statement. Aggregate
	// functions inside each other make the limit stricter. Each hierarchy (a recursive WITH) then
	// adds nestingOfHierarchy to the sum, and the limit is divided by the number of functions that
	// are inside each other.
	MaxNesting = 4_500
	// MaxAggregates is the maximum number of aggregate functions of a statement that may be inside
	// each other.
	MaxAggregates = 4
	// nestingOfHierarchy is the number that a hierarchy adds. It was chosen by the time that
	// MariaDB took for random statements.
	nestingOfHierarchy = 300
	// simpleSize is the length in bytes up to which the nesting of a statement is never too deep.
	simpleSize = 20_000
	// MaxProduct limits the product of the numbers of SELECTs beside aggregate functions that are
	// inside each other, for statements of all lengths. MariaDB allocates about 300 bytes for each.
	MaxProduct = 400_000
)

// Check returns an error if a database might need minutes or gigabytes to plan the statement, even
// if there are no rows. MariaDB allocates more memory for each nested SELECT, and many times more
// for each aggregate function inside another aggregate function: it multiplies the memory by the
// number of SELECTs beside that function. Errors: fault.Invalid.
func (s Statement) Check() error {
	simple := len(s.SQL) <= simpleSize
	if simple && !hasAggregates(s.SQL, 3) {
		return nil
	}
	nesting, aggregates, product := complexity(s.SQL)
	if aggregates > 1 {
		nesting += nestingOfHierarchy * strings.Count(s.SQL, "WITH RECURSIVE ")
		nesting *= aggregates
	}
	if product > MaxProduct || !simple && (nesting > MaxNesting || aggregates > MaxAggregates) {
		return fault.Invalidf(fault.NoPlace, "the query is too complex for the database; ask for less at once")
	}
	return nil
}

// complexity returns the sum of the depths of all nested SELECTs of a statement. It also returns
// the maximum number of aggregate functions that are inside each other, and the product of the
// SELECTs beside them.
func complexity(sql string) (nesting, aggregates int, product float64) {
	type parenthesis struct {
		selects int  // 1 if the parenthesis begins with a SELECT; otherwise 0
		called  bool // true: it follows the name of an aggregate function
		several bool // true: it has several values, and SQLite's MIN or MAX of several values is no aggregate function
		inside  int  // maximum number of aggregate functions in it that are inside each other

		beside int     // number of SELECTs in it that are not in an aggregate function
		calls  float64 // sum of the products of the aggregate functions directly in it
		nested float64 // sum of the products of its SELECTs
	}
	open := []parenthesis{{}}
	depth := 0
	quoted := false
	for i := range len(sql) {
		top := &open[len(open)-1]
		switch c := sql[i]; {
		case c == '\'':
			quoted = !quoted
		case quoted:
		case c == ',':
			top.several = true
		case c == '(':
			p := parenthesis{called: isAggregate(sql[:i])}
			if after := sql[i+1:]; strings.HasPrefix(after, "SELECT ") || strings.HasPrefix(after, "WITH ") {
				p.selects = 1
			}
			depth += p.selects
			nesting += depth * p.selects
			open = append(open, p)
		case c == ')' && len(open) > 1:
			depth -= top.selects
			if top.called && !top.several {
				top.inside++
			}
			aggregates = max(aggregates, top.inside)
			outer := &open[len(open)-2]
			outer.inside = max(outer.inside, top.inside)
			switch {
			case top.called && !top.several:
				outer.calls += max(1, top.nested)
			case top.selects > 0:
				outer.beside += 1 + top.beside
				outer.nested += max(1, top.calls*float64(1+top.beside)) + top.nested
			default:
				outer.beside, outer.calls, outer.nested = outer.beside+top.beside, outer.calls+top.calls, outer.nested+top.nested
			}
			open = open[:len(open)-1]
		}
	}
	return nesting, aggregates, max(open[0].nested, open[0].calls*float64(1+open[0].beside))
}

// hasAggregates reports whether SQL text has at least n aggregate functions.
func hasAggregates(sql string, n int) bool {
	for _, name := range []string{"SUM(", "COUNT(", "MAX(", "MIN("} {
		n -= strings.Count(sql, name)
	}
	return n <= 0
}

// isAggregate reports whether SQL text ends in the name of an aggregate function.
func isAggregate(before string) bool {
	for _, name := range []string{"SUM", "COUNT", "MAX", "MIN"} {
		if strings.HasSuffix(before, name) {
			return true
		}
	}
	return false
}
