package asset_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/asset"
)

// The table in docs/contexts.md is the same as contextDefaults.
func TestContextsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/contexts.md")
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "| ") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	for _, s := range asset.ContextDefaults() {
		want = append(want, s.Line)
	}
	if diff := cmp.Diff(want, got[1:]); diff != "" { // without the line of column names
		t.Errorf("docs/contexts.md (-code +document):\n%s", diff)
	}
}

// Every row of contextDefaults has an effect: if an asset of a type that Made lists is created in a
// context of a type that In lists, the asset gets the attribute.
func TestContextDefaultsApply(t *testing.T) {
	w := newHarness(t, testdb.SQLite(t))
	contexts := contextsOf(w)
	for _, s := range asset.ContextDefaults() {
		tried := 0
		for _, made := range model.Types {
			if a, ok := made.Attr(s.Attr); made.Abstract || !ok || a.ReadOnly || !among(made, s.Made) {
				continue
			}
			for in, context := range contexts {
				if t, _ := model.Type(in); !among(t, s.In) || s.In == nil && in != "Story" {
					continue
				}
				tried++
				given, err := w.e.Template(t.Context(), auth.System, made, ref(context))
				if err != nil || !slices.ContainsFunc(given, func(g asset.Given) bool { return g.Attr.Name == s.Attr }) {
					t.Errorf("%s: a %s in a %s gets no %s (%v)", s.Line, made.Name, in, s.Attr, err)
				}
			}
		}
		if tried == 0 {
			t.Errorf("%s: nobody has tried it", s.Line)
		}
	}
}

func among(t *meta.Type, names []string) bool {
	return names == nil || slices.ContainsFunc(t.Ancestors(), func(up *meta.Type) bool { return slices.Contains(names, up.Name) })
}

// contextsOf creates an asset of each type that contextDefaults names as a context. It returns
// their Oids by type. The assets have values in all attributes that a new asset may copy.
func contextsOf(w *harness) map[string]string {
	schedule := w.must(create("Schedule", "@h", "Name", "Sprints"))[0]
	timebox := w.must(create("Timebox", "@t", "Name", "First", "Schedule", schedule, "State", "State:101", "BeginDate", "2026-01-01", "EndDate", "2026-01-15"))[0]
	team := w.must(create("Team", "@m", "Name", "T"))[0]
	all := map[string]string{"Schedule": schedule}
	add := func(typ string, words ...string) {
		all[typ] = w.must(create(typ, "@"+typ, append([]string{"Name", "N", "Description", "D"}, words...)...))[0]
	}
	add("Scope", "Parent", "Scope:0", "BeginDate", "2026-01-01", "Schedule", schedule)
	add("Request", "Scope", all["Scope"], "RequestedBy", "Ann")
	add("Issue", "Scope", all["Scope"])
	for _, typ := range []string{"Epic", "Story", "Defect"} {
		add(typ, "Scope", all["Scope"], "Timebox", timebox, "Team", team)
	}
	add("Task", "Parent", all["Story"])
	add("Test", "Parent", all["Epic"])
	return all
}
