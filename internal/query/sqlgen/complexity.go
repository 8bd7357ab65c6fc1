package sqlgen

import (
	"strings"

	"github.com/alds-dev/alds/internal/base/fault"
)

const (
	// MaxNesting limits the sum of the depths of all nested SELECTs of a statement.
	MaxNesting = 1_300
	// MaxAggregates is how many aggregate functions of a statement may be inside each other.
	MaxAggregates = 4
	// simpleSize is the length in bytes up to which a statement is never too complex.
	simpleSize = 20_000
)

// Check returns an error if a database might need minutes or gigabytes to plan the statement,
// even if there are no rows. MariaDB allocates more for each nested SELECT, and many times more
// for each aggregate function inside another one. The error is Invalid.
func (s Statement) Check() error {
	if len(s.SQL) <= simpleSize {
		return nil
	}
	if nesting, aggregates := complexity(s.SQL); nesting > MaxNesting || aggregates > MaxAggregates {
		return fault.Invalidf(fault.NoPlace, "the query is too complex for the database; ask for less at once")
	}
	return nil
}

// complexity returns the sum of the depths of all nested SELECTs of a statement, and how many
// aggregate functions are inside each other at most.
func complexity(sql string) (nesting, aggregates int) {
	type parenthesis struct{ selects, aggregate int } // 1 or 0
	var open []parenthesis
	var depth parenthesis
	quoted := false
	for i := range len(sql) {
		switch c := sql[i]; {
		case c == '\'':
			quoted = !quoted
		case quoted:
		case c == '(':
			var p parenthesis
			if after := sql[i+1:]; strings.HasPrefix(after, "SELECT ") || strings.HasPrefix(after, "WITH ") {
				p.selects = 1
				nesting += depth.selects + 1
			}
			if isAggregate(sql[:i]) {
				p.aggregate = 1
				aggregates = max(aggregates, depth.aggregate+1)
			}
			depth.selects += p.selects
			depth.aggregate += p.aggregate
			open = append(open, p)
		case c == ')' && len(open) > 0:
			p := open[len(open)-1]
			open = open[:len(open)-1]
			depth.selects -= p.selects
			depth.aggregate -= p.aggregate
		}
	}
	return nesting, aggregates
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
