package spectest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// customSorts are the attributes by which TestPagesByCustom sorts: attributes in columns, attributes in the
// JSON column because no other column was free, and relations.
var customSorts = []string{
	"Custom_N1", "Custom_N9", "Custom_D1", "Custom_D9", "Custom_T1", "Custom_T9", "Custom_Flag", "Custom_Long",
	"Custom_One", "Custom_One.Name", "Custom_One.Order", "Custom_Who.Name",
}

// TestPagesByCustom reads results that are sorted by custom attributes of every kind, ascending and
// descending, with equal and empty values. Pages by cursor and pages by offset must have the same rows as
// one large page.
func TestPagesByCustom(t *testing.T) {
	for _, dialect := range []string{"mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			base, _ := startService(t, dialect)
			r := &runner{t: t, base: base}
			scope, rows := r.fillCustom()
			for _, from := range []string{"Story", "PrimaryWorkitem"} {
				for _, by := range customSorts {
					for _, order := range []string{`["` + by + `"]`, `["-` + by + `"]`, `["-` + by + `", "Custom_N1", "-Custom_T9"]`} {
						query := fmt.Sprintf(`{"from": %q, "select": ["Name"], "where": {"Scope": %q}, "sort": %s, "page": `, from, scope, order)
						whole := r.pageOf(query + `{"size": 100}}`).rows
						if len(whole) != rows {
							t.Fatalf("%s: %d rows of %d", order, len(whole), rows)
						}
						for _, size := range []int{1, 7} {
							if got := r.byCursor(query, size); !slices.Equal(got, whole) {
								t.Errorf("%s %s, %d a page:\nby cursor %v\nwhole     %v", from, order, size, got, whole)
							}
						}
						if got := r.byOffset(query, 7, rows); !slices.Equal(got, whole) {
							t.Errorf("%s %s:\nby offset %v\nwhole     %v", from, order, got, whole)
						}
					}
				}
			}
		})
	}
}

// fillCustom defines the attributes and creates stories. Each attribute has only a few different values, so
// many stories have the same value. Some stories have no value.
func (r *runner) fillCustom() (scope string, rows int) {
	r.t.Helper()
	must := func(commands []string) bulkAnswer {
		a, problem := r.command("[" + strings.Join(commands, ",\n") + "]")
		if problem != "" {
			r.t.Fatal(problem)
		}
		return a
	}
	all := []string{
		`{"AssetType": "Scope", "Name": "pages", "Parent": "Scope:0", "BeginDate": "2026-01-01"}`,
		`{"AssetType": "AssetType", "Name": "Custom_List", "Base": "List"}`,
	}
	define := func(name, kind, more string) {
		all = append(all, fmt.Sprintf(`{"AssetType": "AttributeDefinition", "Name": %q, "Asset": "Story", "AttributeType": %q%s}`, name, kind, more))
	}
	for i := 1; i <= 9; i++ { // for the ninth attribute of a kind, no column is free
		define(fmt.Sprint("Custom_N", i), "Numeric", "")
		define(fmt.Sprint("Custom_D", i), "Date", "")
		define(fmt.Sprint("Custom_T", i), "Text", "")
	}
	define("Custom_Flag", "Boolean", "")
	define("Custom_Long", "LongText", "")
	define("Custom_One", "Relation", `, "RelatedAssetType": "Custom_List"`)
	define("Custom_Who", "Relation", `, "RelatedAssetType": "Member"`)
	scope = must(all).Created.OidTokens[0]

	must([]string{`{"AssetType": "Custom_List", "Name": "red"}`, `{"AssetType": "Custom_List", "Name": "Äpfel"}`, `{"AssetType": "Custom_List", "Name": "RED"}`})
	values := map[string][]string{
		"Custom_N1": {"-1", "0", "0.1", "10", "1e99"}, "Custom_N9": {"-0.5", "0", "0.1", "100"},
		"Custom_D1": {`"2026-01-02"`, `"2026-01-02T03:04:05.678"`, `"1969-12-31"`}, "Custom_D9": {`"2026-01-02"`, `"2026-03-02T00:00:01"`},
		"Custom_T1": {`"a"`, `"A"`, `""`, `"ä"`, `"straße"`, `"STRASSE"`, `"a b"`}, "Custom_T9": {`"b"`, `""`, `"B"`, `"Ω"`},
		"Custom_Flag": {"true", "false"}, "Custom_Long": {`"long"`, `"LONG "`, `""`}, "Custom_One": {`"red"`, `"Äpfel"`}, "Custom_Who": {`"Member:20"`},
	}
	all = nil
	const stories = 36
	for i := range stories {
		c := fmt.Sprintf(`{"AssetType": "Story", "Scope": %q, "Name": "s%d"`, scope, i)
		for k, name := range slices.Sorted(maps.Keys(values)) {
			if n := i/(k%3+1) + k; n%4 > 0 { // a quarter of the stories have no value
				c += fmt.Sprintf(`, %q: %s`, name, values[name][n%len(values[name])])
			}
		}
		all = append(all, c+"}")
	}
	must(all)
	return scope, stories
}

// paged is a page of a result.
type paged struct {
	rows []string
	next string // cursor of the next page; empty: there is no next page
}

func (r *runner) pageOf(query string) (p paged) {
	r.t.Helper()
	a, problem := r.command(query)
	if problem != "" {
		r.t.Fatal(problem)
	}
	for _, row := range a.Query.Results[0] {
		p.rows = append(p.rows, fmt.Sprint(row["Name"]))
	}
	if len(a.Query.Pages) > 0 && a.Query.Pages[0].Next != nil {
		p.next = *a.Query.Pages[0].Next
	}
	return p
}

func (r *runner) byCursor(query string, size int) (rows []string) {
	r.t.Helper()
	for after := ""; ; {
		p := r.pageOf(fmt.Sprintf(`%s{"size": %d, "after": %q}}`, query, size, after))
		if rows = append(rows, p.rows...); p.next == "" || len(rows) > 1000 {
			return rows
		}
		after = p.next
	}
}

func (r *runner) byOffset(query string, size, total int) (rows []string) {
	r.t.Helper()
	for start := 0; start < total; start += size {
		rows = append(rows, r.pageOf(fmt.Sprintf(`%s{"size": %d, "start": %d}}`, query, size, start)).rows...)
	}
	return rows
}
