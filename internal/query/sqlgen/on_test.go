package sqlgen_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
)

var (
	afterON = regexp.MustCompile(`^( LEFT JOIN | JOIN | WHERE | GROUP BY | ORDER BY | LIMIT | UNION |\))`)
	asJoin  = regexp.MustCompile(`^\(*(NOT )?(EXISTS \(|\S+ (NOT )?IN \(SELECT )`)
)

// TestTestsInON checks the statements for a server that must not turn conditions in the ON of a
// LEFT JOIN into joins. Every condition there has a form that the server does not turn into a join.
func TestTestsInON(t *testing.T) {
	d := db.DialectNamed("mysql")
	d.TestsInON = true
	tests := 0
	for cases := range loadEach(t) {
		for name, g := range cases {
			if g.err != nil {
				continue
			}
			for _, s := range g.statements(d) {
				for _, c := range conditionsInON(s.SQL) {
					switch {
					case !asJoin.MatchString(c):
					case strings.HasSuffix(c, ") = 1"):
						tests++
					default:
						t.Errorf("%s: %s\n%s", name, c, s.SQL)
					}
				}
			}
		}
	}
	if tests == 0 {
		t.Error("no test found")
	}
}

// conditionsInON returns the conditions of every LEFT JOIN of a statement.
func conditionsInON(text string) (all []string) {
	for _, rest, found := strings.Cut(text, " LEFT JOIN "); found; _, rest, found = strings.Cut(rest, " LEFT JOIN ") {
		_, on, _ := strings.Cut(rest, " ON ")
		depth, from := 0, 0
		for i := range len(on) {
			ends := depth == 0 && (afterON.MatchString(on[i:]) || i == len(on)-1)
			if ends || depth == 0 && strings.HasPrefix(on[i:], " AND ") {
				all = append(all, on[from:i])
				from = i + len(" AND ")
			}
			if ends {
				break
			}
			switch on[i] {
			case '(':
				depth++
			case ')':
				depth--
			}
		}
	}
	return all
}
