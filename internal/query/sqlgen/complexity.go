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
	// simpleSize is the length in bytes up to which a statement is never too complex.
	simpleSize = 20_000
)

// Check returns an error if a database might need minutes or gigabytes to plan the statement, even
// if there are no rows. MariaDB allocates more memory for each nested SELECT, and many times more
// for each aggregate function inside another aggregate function. Errors: fault.Invalid.
func (s Statement) Check() error {
	if len(s.SQL) <= simpleSize {
		return nil
	}
	nesting, aggregates := complexity(s.SQL)
	if aggregates > 1 {
		nesting += nestingOfHierarchy * strings.Count(s.SQL, "WITH RECURSIVE ")
		nesting *= aggregates
	}
	if nesting > MaxNesting || aggregates > MaxAggregates {
		return fault.Invalidf(fault.NoPlace, "the query is too complex for the database; ask for less at once")
	}
	return nil
}

// complexity returns the sum of the depths of all nested SELECTs of a statement. It also returns
// the maximum number of aggregate functions that are inside each other.
func complexity(sql string) (nesting, aggregates int) {
	type parenthesis struct {
		selects int  // 1 if the parenthesis begins with a SELECT; otherwise 0
		called  bool // true: it follows the name of an aggregate function
		several bool // true: it has several values, and SQLite's MIN or MAX of several values is no aggregate function
		inside  int  // maximum number of aggregate functions in it that are inside each other
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
			open[len(open)-2].inside = max(open[len(open)-2].inside, top.inside)
			open = open[:len(open)-1]
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
