package sqlgen

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

// TestEveryExpressionIsWritten checks that expr.go has a case for every kind of expression of
// package query.
func TestEveryExpressionIsWritten(t *testing.T) {
	cases := map[string]bool{}
	ast.Inspect(parse(t, "expr.go"), func(n ast.Node) bool {
		if c, ok := n.(*ast.CaseClause); ok {
			for _, x := range c.List {
				if s, ok := x.(*ast.SelectorExpr); ok {
					cases[s.Sel.Name] = true
				}
			}
		}
		return true
	})
	kinds := 0
	ast.Inspect(parse(t, "../expr.go"), func(n ast.Node) bool {
		if f, ok := n.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == "parts" {
			kinds++
			if name := f.Recv.List[0].Type.(*ast.Ident).Name; !cases[name] {
				t.Errorf("no case writes query.%s", name)
			}
		}
		return true
	})
	if kinds == 0 {
		t.Error("no kinds found")
	}
}

func parse(t *testing.T, file string) *ast.File {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}
