package find

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// facts is the result info of an answer.
type facts struct {
	Next    *string
	Total   *int
	Explain []explained
}

func ask(t *testing.T, f *Finder, who, body string) ([]json.RawMessage, facts, error) {
	t.Helper()
	r, err := fromJSON([]byte(body))
	if err != nil {
		return nil, facts{}, err
	}
	rows, info, err := f.Answer(context.Background(), nil, actors[who], r, nil)
	if err != nil {
		return nil, facts{}, err
	}
	var list []json.RawMessage
	var b facts
	if err := json.Unmarshal(rows, &list); err != nil {
		t.Fatalf("%s: %v", rows, err)
	}
	if info != nil {
		if err := json.Unmarshal(info, &b); err != nil {
			t.Fatalf("%s: %v", info, err)
		}
	}
	return list, b, nil
}

// TestCursorPagesMakeTheWhole checks that all pages of a query together equal the whole result. The
// sort orders ascend and descend, and have ties. They sort null, numbers, text, states and types.
func TestCursorPagesMakeTheWhole(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := seed(t)
		f.write(d)
		finder := New(d, f.m)
		for _, query := range []string{
			`"from":"Workitem"`,
			`"from":"PrimaryWorkitem","sort":["Order"]`,
			`"from":"Workitem","sort":["-Story.Estimate","Name"]`,
			`"from":"Workitem","sort":["ToDo","-AssetType"]`,
			`"from":"Workitem","sort":["Scope.Name","-Story.Status.Name","ToDo"]`,
			`"from":"Workitem","sort":["-Owners.@Count","AssetState"]`,
			`"from":"Workitem","sort":["-Story.Status.Is","AllocatedToDo"]`,
			`"from":"Workitem","asof":"All","sort":["Name"]`,
			`"from":"Story","asof":"2026-01-01T00:00:20","sort":["-Name"]`,
			`"from":"Member","sort":["-Nickname"]`,
		} {
			for _, size := range []int{1, 2, 3, 50} {
				pagesMakeTheWhole(t, finder, query, size)
			}
		}
	})
}

func pagesMakeTheWhole(t *testing.T, f *Finder, query string, size int) {
	t.Helper()
	whole, _, err := ask(t, f, "admin", "{"+query+"}")
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	var paged []json.RawMessage
	for after := ""; ; {
		page, b, err := ask(t, f, "admin", fmt.Sprintf(`{%s,"page":{"size":%d,"after":%q}}`, query, size, after))
		if err != nil {
			t.Fatalf("%s after %s: %v", query, after, err)
		}
		if len(page) > size {
			t.Fatalf("%s: a page of %d has %d rows", query, size, len(page))
		}
		paged = append(paged, page...)
		if b.Next == nil || len(paged) > len(whole) {
			break
		}
		after = *b.Next
	}
	if got, want := fmt.Sprintf("%s", paged), fmt.Sprintf("%s", whole); got != want {
		t.Errorf("%s by %d:\ngot  %s\nwant %s", query, size, got, want)
	}
}

func TestCursorOfAnotherQueryIsRefused(t *testing.T) {
	d := testdb.SQLite(t)
	f := seed(t)
	f.write(d)
	finder := New(d, f.m)
	_, b, err := ask(t, finder, "admin", `{"from":"Story","sort":["Name"],"page":{"size":1,"after":""}}`)
	if err != nil || b.Next == nil {
		t.Fatalf("no cursor: %v", err)
	}
	for _, c := range []struct{ what, query, after string }{
		{"another order", `"from":"Story","sort":["-Name"]`, *b.Next},
		{"another type", `"from":"Defect","sort":["Name"]`, *b.Next},
		{"no order", `"from":"Story"`, *b.Next},
		{"another time", `"from":"Story","sort":["Name"],"asof":"2026-01-02"`, *b.Next},
		{"a cursor cut short", `"from":"Story","sort":["Name"]`, (*b.Next)[:len(*b.Next)-3]},
		{"a word", `"from":"Story","sort":["Name"]`, "nonsense"},
		{"a letter no cursor has", `"from":"Story","sort":["Name"]`, "é"},
	} {
		_, _, err := ask(t, finder, "admin", fmt.Sprintf(`{%s,"page":{"after":%q}}`, c.query, c.after))
		if fault.KindOf(err) != fault.Invalid || !strings.HasPrefix(fault.Public(err), "Invalid page: after ") {
			t.Errorf("%s: got %v, want it refused", c.what, err)
		}
	}
}

// TestTotalsOfPages checks that the total counts all rows on any page. This includes a page without
// rows, a page after a cursor, and a page that is too large for one statement.
func TestTotalsOfPages(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := seed(t)
		f.write(d)
		finder := New(d, f.m)
		for _, query := range []string{
			`"from":"Workitem","select":["Name"]`,
			`"from":"Story","select":["Name","Owners.Name"],"sort":["Order"]`,
			`"from":"Story","filter":["Owners.@Count>'0'"],"sort":["-Name"]`,
			`"from":"Story","filter":["Scope.Workitems.@Count>'1'"],"select":["Scope.Workitems.@Count"]`,
			`"from":"Story","filter":["Name='nothing has this'"]`,
			`"from":"Story","select":["Name"],"asof":"All"`,
			`"from":"Story","select":["Name"],"asof":"2026-01-01T00:00:20"`,
		} {
			for _, who := range []string{"admin", "andre"} {
				all, _, err := ask(t, finder, who, "{"+query+"}")
				if err != nil {
					t.Fatal(err)
				}
				for _, page := range []string{`"size":1`, `"size":0`, `"size":50`, `"start":1,"size":2`, `"start":40,"size":2`, `"start":200,"size":2`, `"size":1,"after":""`, `"size":5000`} {
					rows, b, err := ask(t, finder, who, `{`+query+`,"page":{`+page+`},"total":true}`)
					if err != nil || b.Total == nil || *b.Total != len(all) {
						t.Errorf("%s, page %s, as %s: %d rows, total %v of %d: %v", query, page, who, len(rows), b.Total, len(all), err)
					}
				}
			}
		}
	})
}

func TestTotalAndExplain(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := seed(t)
		f.write(d)
		finder := New(d, f.m)
		rows, b, err := ask(t, finder, "admin", `{"from":"Story","select":["Name","Owners.Name"],"page":{"size":1,"after":""},"total":true,"explain":true}`)
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) != 1 || b.Total == nil || *b.Total != 4 || b.Next == nil {
			t.Errorf("%d rows, %+v, want 1 row of 4 and a cursor", len(rows), b)
		}
		if len(b.Explain) != 2 || len(b.Explain[0].Plan) == 0 {
			t.Errorf("explain %+v, want the rows and one branch", b.Explain)
		}
		step := map[string]string{"mysql": "table", "sqlite": "detail"}[d.Dialect.Name]
		for _, e := range b.Explain {
			for _, s := range e.Plan {
				if s[step] == nil {
					t.Errorf("a step of %s without %q, the form the database's plans have: %v", e.SQL, step, s)
				}
			}
		}
		if _, _, err := ask(t, finder, "andre", `{"from":"Story","explain":true}`); fault.KindOf(err) != fault.Denied {
			t.Errorf("a member who is no administrator: got %v, want it denied", err)
		}
	})
}
