package archtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/model/meta"
)

// TestInterfaceRights checks that the tables of rights in docs/interface.md match the model.
func TestInterfaceRights(t *testing.T) {
	m := meta.Default()
	compareTable(t, "#### 5.8.1 Rights of roles", rightsTable(m.Rights))
	compareTable(t, "#### 5.8.2 Kinds of assets", kindsTable(m.Rights))
}

func compareTable(t *testing.T, heading string, want []string) {
	t.Helper()
	var got []string
	for _, row := range rowsOf(t, heading) {
		got = append(got, "|"+strings.Join(row, "|")+"|")
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the table below %q differs from the model's:\n%s", heading, strings.Join(want, "\n"))
	}
}

// rightsTable returns a row for each role: the kinds of assets with full rights and their exceptions, and
// the kinds that the role may only relate.
func rightsTable(r *meta.Rights) []string {
	var rows []string
	for _, role := range r.Order {
		var full, relates []string
		for _, k := range r.Kinds {
			switch {
			case k.Roles(meta.ToCreate, "").Has(role):
				name := k.Name
				if k.Own && !k.Roles(meta.ToModerate, "").Has(role) {
					name = "own " + name
				}
				if names := k.Exceptions(role); len(names) > 0 {
					name += " but for `" + strings.Join(names, "`, `") + "`"
				}
				full = append(full, name)
			case k.Roles(meta.ToRelate, "").Has(role):
				relates = append(relates, k.Name)
			}
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %s |", r.Names[role], strings.Join(full, ", "), strings.Join(relates, ", ")))
	}
	return rows
}

func kindsTable(r *meta.Rights) []string {
	var rows []string
	for _, k := range r.Kinds {
		var types []string
		lists := false
		for _, t := range k.Types {
			if t.Parent != nil && t.Parent.Name == "List" {
				lists = true
				continue
			}
			types = append(types, t.Name)
		}
		if lists {
			types = append(types, "all list types")
		}
		rows = append(rows, fmt.Sprintf("| %s | %s |", k.Name, strings.Join(types, ", ")))
	}
	return rows
}
