package archtest

import (
	"go/ast"
	"go/constant"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// limitRow matches a row of docs/limits.md that names a constant.
var limitRow = regexp.MustCompile("^\\|[^|]+\\| ([0-9,]+) \\|(.*)\\| `([a-z]+\\.[a-zA-Z]+)` \\|$")

// inside has the constants of the query packages that do not limit what a client may send.
var inside = map[string]bool{"query.MaxShape": true, "query.MaxLookup": true}

// TestLimits checks that docs/limits.md has the same values as the code. The document must have every limit
// on the text of a query and on the form of a request body.
func TestLimits(t *testing.T) {
	limits := constants(t)
	said := map[string]bool{}
	for line := range strings.Lines(string(read(t, "docs/limits.md"))) {
		m := limitRow.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			if strings.Contains(line, "`") && strings.Count(line, "|") == 5 && !strings.Contains(line, "ALDS_") {
				t.Errorf("the row names no constant: %s", line)
			}
			continue
		}
		name, value := m[3], strings.ReplaceAll(m[1], ",", "")
		said[name] = true
		if limits[name] != value {
			t.Errorf("docs/limits.md says %s is %s, the code %q", name, value, limits[name])
		}
		if _, limit, ok := strings.Cut(m[2], "the limit is "); ok && strings.TrimSpace(limit) != value {
			t.Errorf("the message of %s says %s, the limit is %s", name, strings.TrimSpace(limit), value)
		}
	}
	for name := range limits {
		pkg, word, _ := strings.Cut(name, ".")
		ofText := pkg == "token" || pkg == "query" || pkg == "doc"
		if ofText && strings.HasPrefix(word, "Max") && !said[name] && !inside[name] {
			t.Errorf("docs/limits.md lacks %s", name)
		}
	}
}

// constants returns the whole-number constants in internal whose names start with "max" in any case. The
// key is "package.name", and the value is the number.
func constants(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	sources(t, func(file string, parsed *ast.File) {
		if !strings.HasPrefix(file, "internal/") || strings.HasSuffix(file, "_test.go") {
			return
		}
		for _, d := range parsed.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, s := range g.Specs {
				v, _ := s.(*ast.ValueSpec)
				for i, name := range v.Names {
					if i < len(v.Values) && strings.HasPrefix(strings.ToLower(name.Name), "max") {
						if n := number(v.Values[i]); n.Kind() == constant.Int {
							all[path.Base(path.Dir(file))+"."+name.Name] = n.ExactString()
						}
					}
				}
			}
		}
	})
	return all
}

// number returns the value of a constant expression that consists of literals. For other expressions the
// value has the kind Unknown.
func number(x ast.Expr) constant.Value {
	switch x := x.(type) {
	case *ast.BasicLit:
		return constant.MakeFromLiteral(x.Value, x.Kind, 0)
	case *ast.BinaryExpr:
		l, r := number(x.X), number(x.Y)
		if l.Kind() != constant.Int || r.Kind() != constant.Int {
			return constant.MakeUnknown()
		}
		if x.Op == token.SHL {
			n, err := strconv.ParseUint(r.ExactString(), 10, 8)
			if err != nil {
				return constant.MakeUnknown()
			}
			return constant.Shift(l, x.Op, uint(n))
		}
		return constant.BinaryOp(l, x.Op, r)
	}
	return constant.MakeUnknown()
}
