package find

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestPagesBelowAScope checks pages by rank of the rows at or below a scope. All pages together
// must equal the whole result, in both directions and however the rows are spread over the scopes.
func TestPagesBelowAScope(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t)
		scopes := []string{"Scope:0", "Scope:1000", "Scope:1001", "Scope:1002"}
		for i, s := range scopes {
			f.set(s, "Name="+s)
			f.tree = append(f.tree, &pair{from: f.assets[s].id, to: f.assets[s].id, since: 1, until: db.Forever})
			if i > 0 {
				f.tree = append(f.tree, &pair{from: 0, to: f.assets[s].id, since: 1, until: db.Forever, n: 1})
			}
		}
		for i := range 30 {
			in := scopes[1+i*i%7%3]
			if i < 5 {
				in = scopes[0]
			}
			f.set(fmt.Sprint("Story:", 2000+i), fmt.Sprintf("Name=%d; Scope=%s; Order=%d; Estimate=%d", i, in, (i*17%30+1)*1024, i%2))
		}
		f.write(d)
		find := New(d, f.m)
		ask := func(text string) []any {
			t.Helper()
			r, err := fromJSON([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			got, err := find.Rows(t.Context(), nil, actors["admin"], r, nil)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			var sets []any
			if err := json.Unmarshal(got, &sets); err != nil {
				t.Fatalf("%s: %v", got, err)
			}
			return sets
		}
		for _, filter := range []string{`"Scope.ParentMeAndUp='Scope:0'"`, `"Scope.ParentMeAndUp='Scope:1000','Scope:1001'"`, `"Scope.ParentMeAndUp='Scope:0'", "Estimate='1'"`, `"Scope.ParentMeAndUp='Scope:1001'"`} {
			for _, sort := range []string{"Order", "-Order"} {
				query := `{"from": "Story", "select": ["Name", "Order"], "filter": [` + filter + `], "sort": ["` + sort + `"]`
				all := ask(query + "}")
				if len(all) == 0 {
					t.Fatalf("%s: nothing", filter)
				}
				for _, size := range []int{1, 7, 50} {
					var pages []any
					for start := 0; start < len(all); start += size {
						pages = append(pages, ask(fmt.Sprintf(`%s, "page": {"start": %d, "size": %d}}`, query, start, size))...)
					}
					if !reflect.DeepEqual(pages, all) {
						t.Errorf("%s by %s, pages of %d:\n%v\nwant\n%v", filter, sort, size, pages, all)
					}
				}
			}
		}
	})
}
