package archtest

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/alds-dev/alds/internal/httpapi"
)

// identifier matches an operationId that generators can use as a function name.
var identifier = regexp.MustCompile(`^[a-z][a-zA-Z]+$`)

var placeholder = regexp.MustCompile(`[:*](\w+)`)

// TestOpenAPI compares docs/openapi.yaml with the route table. Both must have the same operations, and each
// needs a unique operationId for generators. The comparison leaves out aliases. It also leaves out the
// method SEARCH, because OpenAPI does not support it.
func TestOpenAPI(t *testing.T) {
	var described struct {
		Paths map[string]map[string]struct {
			Summary     string
			OperationID string `yaml:"operationId"`
			Responses   map[string]yaml.Node
		}
	}
	if err := yaml.Unmarshal(read(t, "docs/openapi.yaml"), &described); err != nil { // also an error for a duplicate key
		t.Fatal(err)
	}
	routes, named := operations(t), map[string]string{}
	for path, methods := range described.Paths {
		for method, op := range methods {
			name := strings.ToUpper(method) + " " + path
			if !routes[name] {
				t.Errorf("%s is in docs/openapi.yaml and has no route", name)
			}
			if delete(routes, name); op.Summary == "" || len(op.Responses) == 0 {
				t.Errorf("%s has no summary or no responses", name)
			}
			if !identifier.MatchString(op.OperationID) || named[op.OperationID] != "" {
				t.Errorf("%s has the operationId %q, which is to be a word of its own; that of %s", name, op.OperationID, named[op.OperationID])
			}
			named[op.OperationID] = name
		}
	}
	for _, name := range slices.Sorted(maps.Keys(routes)) {
		t.Errorf("%s has a route and is not in docs/openapi.yaml", name)
	}
}

// operations returns the routes in OpenAPI form, such as "GET /api/webhook/{id}".
func operations(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, r := range httpapi.Routes() {
		for _, method := range r.Methods {
			name := method + " /" + placeholder.ReplaceAllString(r.Path, "{$1}")
			if all[name] {
				t.Errorf("%s stands twice in the route table", name)
			}
			all[name] = !r.Alias && method != "SEARCH"
		}
	}
	maps.DeleteFunc(all, func(_ string, described bool) bool { return !described })
	return all
}
