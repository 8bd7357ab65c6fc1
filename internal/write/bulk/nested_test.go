package bulk_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/bulk"
)

// nesting is a to-many relation of a type, and the type of a create nested in the relation.
type nesting struct {
	parent *meta.Type
	in     *meta.Attr
	child  *meta.Type
}

func (n nesting) String() string { return n.in.Token() + ": " + n.child.Name }

// A create nested in a to-many relation names its parent in the reciprocal relation, and in no
// other relation. There is one exception: an asset created in a project also gets that project
// as its Scope and SecurityScope.
func TestNestedCreatesFillTheirRelationOnly(t *testing.T) {
	e := engine(t, testdb.SQLite(t))
	pool := onePerType(t, e)
	all := nestings()
	if len(all) < 400 {
		t.Errorf("%d nestings: the test looks at too few", len(all))
	}
	for batch := range slices.Chunk(all, 50) {
		var body []any
		for i, n := range batch {
			child := least(pool, n.child, n)
			child["AssetType"] = n.child.Name
			parent := least(pool, n.parent, nesting{})
			parent["AssetType"], parent[n.in.Name] = n.parent.Name, []any{map[string]any{fmt.Sprintf("@child%d", i): child}}
			body = append(body, map[string]any{fmt.Sprintf("@parent%d", i): parent},
				map[string]any{"from": fmt.Sprintf("@child%d", i), "select": between(n)})
		}
		checkNestings(t, batch, execute(t, e, body))
	}
}

func checkNestings(t *testing.T, batch []nesting, a answer) {
	t.Helper()
	for _, f := range a.CommandFailures.Commands {
		t.Errorf("fails: %v", f)
	}
	if len(a.QueryResult.Results) != len(batch) || len(a.AssetsCreated.OIDTokens) != 2*len(batch) {
		t.Fatalf("%d answers, %d made", len(a.QueryResult.Results), len(a.AssetsCreated.OIDTokens))
	}
	for i, n := range batch {
		parent := a.AssetsCreated.OIDTokens[2*i]
		for name, v := range a.QueryResult.Results[i][0] {
			names := strings.Contains(fmt.Sprint(v), "["+oidKey+parent+"]")
			if name == "_oid" || name == "Scope" || name == "SecurityScope" {
				continue
			}
			if want := name == n.in.Back.Name; names != want {
				t.Errorf("%s: %s names the parent: %t", n, name, names)
			}
		}
	}
}

const oidKey = "_oid:"

// answer has the fields of a response that the test checks.
type answer struct {
	AssetsCreated   struct{ OIDTokens []string }
	CommandFailures struct{ Commands []map[string]any }
	QueryResult     struct{ Results [][]map[string]any }
}

func execute(t *testing.T, e *bulk.Engine, body any) answer {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	var a answer
	if err := json.Unmarshal(run(t, e, string(text), false), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// nestings returns all nestings of the model in which the child has the reciprocal relation, and
// this relation is writable and accepts the parent.
func nestings() []nesting {
	var all []nesting
	for _, parent := range meta.Default().Types {
		if parent.Abstract || parent.Metadata {
			continue
		}
		for _, in := range parent.Attrs {
			if !in.ToMany() || in.Back == nil ||
				in.Place.Kind != meta.InLinks && in.Place.Kind != meta.InLinksBack && in.Place.Kind != meta.Reverse {
				continue
			}
			for _, child := range in.Related.Concrete {
				back, ok := child.Attr(in.Back.Name)
				if ok && !back.ReadOnly && back.Takes(parent) {
					all = append(all, nesting{parent, in, child})
				}
			}
		}
	}
	return all
}

// between returns the relations of the child that accept the parent.
func between(n nesting) []string {
	var all []string
	for _, a := range n.child.Attrs {
		switch a.Place.Kind {
		case meta.InColumn, meta.InLinks, meta.InLinksBack, meta.Reverse:
			if a.Kind == meta.Relation && a.Takes(n.parent) {
				all = append(all, a.Name)
			}
		}
	}
	return all
}

// least returns values for the required attributes of a type, except for the reciprocal of the
// relation n.in. The values of relations are from pool, which contains one Oid for each type.
func least(pool map[string]string, typ *meta.Type, n nesting) map[string]any {
	c := map[string]any{}
	for _, a := range typ.Attrs {
		if !a.Required || n.in != nil && a.Name == n.in.Back.Name {
			continue
		}
		switch a.Kind {
		case meta.Relation:
			for _, to := range a.TargetTypes() {
				if pool[to.Name] != "" && c[a.Name] == nil {
					c[a.Name] = pool[to.Name]
				}
			}
		case meta.Date:
			c[a.Name] = map[bool]string{true: "2026-01-01", false: "2026-01-15"}[a.Name == "BeginDate"]
		case meta.Numeric:
			c[a.Name] = 1
		case meta.Boolean:
			c[a.Name] = false
		default:
			c[a.Name] = "x"
		}
	}
	return c
}

// onePerType creates one asset of every type, and returns their Oids by type.
func onePerType(t *testing.T, e *bulk.Engine) map[string]string {
	t.Helper()
	pool := map[string]string{"Scope": "Scope:0", "Role": "Role:4", "State": "State:100", "Member": "Member:20"}
	for left := 1; left > 0; {
		left = 0
		for _, typ := range meta.Default().Types {
			if typ.Abstract || typ.Metadata || pool[typ.Name] != "" {
				continue
			}
			c := least(pool, typ, nesting{})
			missing := slices.ContainsFunc(typ.Attrs, func(a *meta.Attr) bool { return a.Required && c[a.Name] == nil })
			if left++; missing {
				continue
			}
			c["AssetType"] = typ.Name
			a := execute(t, e, c)
			if len(a.AssetsCreated.OIDTokens) != 1 {
				t.Fatalf("%v: %v", c, a.CommandFailures.Commands)
			}
			pool[typ.Name] = a.AssetsCreated.OIDTokens[0]
		}
	}
	return pool
}
