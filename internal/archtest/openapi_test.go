package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// aliases are spellings of a route that clients of another time use; the
// document describes the route once.
var aliases = regexp.MustCompile(`^(rest-1\.oauth\.v1/|query\.legacy\.v1$)`)

var placeholder = regexp.MustCompile(`[:*](\w+)`)

// TestOpenAPI holds docs/openapi.yaml to the route table: the same paths with
// the same methods, but for SEARCH, which the form has no word for.
func TestOpenAPI(t *testing.T) {
	var described struct {
		Paths map[string]map[string]yaml.Node `yaml:"paths"`
	}
	if err := yaml.Unmarshal(read(t, "docs/openapi.yaml"), &described); err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for p, methods := range described.Paths {
		for m := range methods {
			got[p] = append(got[p], m)
		}
	}
	want := routes(t)
	for p, methods := range want {
		slices.Sort(methods)
		slices.Sort(got[p])
		if !slices.Equal(methods, got[p]) {
			t.Errorf("%s: the route table has %v, docs/openapi.yaml %v", p, methods, got[p])
		}
		delete(got, p)
	}
	for p := range got {
		t.Errorf("%s: described, but no route", p)
	}
}

// routes reads the table in httpapi: path to lower-case methods.
func routes(t *testing.T) map[string][]string {
	t.Helper()
	sets := map[string][]string{"get": {"get"}, "post": {"post"}, "query": {"post", "get"}}
	found := map[string][]string{}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "internal/httpapi/routes.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		var methods []string
		route := ""
		for _, e := range lit.Elts {
			kv, ok := e.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			switch v := kv.Value.(type) {
			case *ast.Ident:
				if ident(kv.Key) == "methods" {
					methods = sets[v.Name]
				}
			case *ast.BasicLit:
				if ident(kv.Key) == "path" {
					route, _ = strconv.Unquote(v.Value)
				}
			}
		}
		if route != "" && !aliases.MatchString(route) {
			p := "/" + placeholder.ReplaceAllString(strings.TrimSuffix(route, "/"), "{$1}")
			found[p] = append(found[p], methods...)
		}
		return true
	})
	if len(found) == 0 {
		t.Fatal("no routes found")
	}
	return found
}

func ident(e ast.Expr) string {
	if id, ok := e.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}
