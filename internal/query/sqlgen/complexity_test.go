package sqlgen_test

import (
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/query/sqlgen"
)

// TestComplexity checks which statements are refused because a database might need minutes or
// gigabytes to plan them.
func TestComplexity(t *testing.T) {
	long := "SELECT '" + strings.Repeat("(SELECT ", 3000) + "' " // inside a string, so these are no SELECTs
	for name, c := range map[string]struct {
		sql     string
		refused bool
	}{
		"long":                      {long, false},
		"short":                     {nested("SELECT SUM((", "))", 100), false},
		"many side by side":         {long + strings.Repeat("AND EXISTS (SELECT 1) ", sqlgen.MaxNesting), false},
		"too many side by side":     {long + strings.Repeat("AND EXISTS (SELECT 1) ", sqlgen.MaxNesting+1), true},
		"deep":                      {long + nested("(SELECT ", ")", 94), false}, // 1 + 2 + … + 94 = 4465
		"too deep":                  {long + nested("(SELECT ", ")", 95), true},
		"too deep hierarchies":      {long + nested("(WITH RECURSIVE ", ")", 95), true},
		"aggregates inside":         {long + nested("(SELECT SUM(", "))", sqlgen.MaxAggregates), false},
		"too many aggregates":       {long + nested("(SELECT SUM(", "))", sqlgen.MaxAggregates+1), true},
		"aggregates and SELECTs":    {long + "(SELECT SUM((SELECT SUM(1)))) " + strings.Repeat("(SELECT 1), ", sqlgen.MaxNesting/2-3), false},
		"too many for aggregates":   {long + "(SELECT SUM((SELECT SUM(1)))) " + strings.Repeat("(SELECT 1), ", sqlgen.MaxNesting/2-2), true},
		"hierarchies":               {long + strings.Repeat("(WITH RECURSIVE r) + ", 20) + "SUM(1)", false},
		"hierarchies, aggregates":   {long + strings.Repeat("(WITH RECURSIVE r) + ", 8) + "SUM((SELECT SUM(1)))", true},
		"aggregates side by side":   {long + strings.Repeat("(SELECT COUNT(*)), ", 100), false},
		"the least of two values":   {long + nested("(SELECT MIN(MAX(", ", -9), 9))", 10), false},
		"SELECTs beside aggregates": {nested("(SELECT MIN(", ") WHERE"+strings.Repeat(" EXISTS (SELECT 1)", 8)+")", 5), false}, // 9^5 and a little
		"too many beside":           {nested("(SELECT MIN(", ") WHERE"+strings.Repeat(" EXISTS (SELECT 1)", 8)+")", 6), true},
		"beside, not nested":        {strings.Repeat(nested("(SELECT MIN(", ") WHERE"+strings.Repeat(" EXISTS (SELECT 1)", 8)+")", 3)+" + ", 30), false},
		"a parenthesis that closes": {long + strings.Repeat(")", 10), false},
	} {
		err := sqlgen.Statement{SQL: c.sql}.Check()
		if refused := fault.KindOf(err) == fault.Invalid && err != nil; refused != c.refused {
			t.Errorf("%s: %v, want refused: %t", name, err, c.refused)
		}
	}
}

func nested(begin, end string, times int) string {
	return strings.Repeat(begin, times) + "1" + strings.Repeat(end, times)
}
