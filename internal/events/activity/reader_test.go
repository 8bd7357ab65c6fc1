package activity_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/events/activity"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/rest"
	"github.com/alds-dev/alds/internal/write/seed"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// TestPatience requests certain verbs until the time limit ends the search. The answer must say
// where to continue. All pages together must contain all items.
func TestPatience(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		model := meta.Default()
		if err := seed.Run(t.Context(), d, model); err != nil {
			t.Fatal(err)
		}
		finder := find.New(d, model)
		writer := rest.New(asset.New(d, model, nil, nil), finder)
		write := func(w rest.Write) {
			t.Helper()
			w.Type = "Story"
			if _, err := writer.Write(t.Context(), auth.System, w); err != nil {
				t.Fatal(err)
			}
		}
		write(rest.Write{Body: []byte(`{"Attributes":{"Name":"S","Scope":"Scope:0"}}`)})
		for i := range 250 {
			write(rest.Write{ID: "1001", Body: fmt.Appendf(nil, `{"Attributes":{"Estimate":%d}}`, i+1)})
		}
		write(rest.Write{ID: "1001", Op: "Inactivate"})

		s := activity.New(d, model, finder)
		ask := func(r activity.Request) (items int, next int64) {
			t.Helper()
			r.OID = "Story:1001"
			a, err := s.Stream(t.Context(), auth.System, r)
			var list []any
			if err == nil {
				err = json.Unmarshal(a.Body, &list)
			}
			if err != nil {
				t.Fatal(err)
			}
			return len(list), a.Next
		}
		if items, next := ask(activity.Request{Verbs: "Created,Closed"}); items != 2 || next != 0 {
			t.Errorf("within its time: %d items, next %d", items, next)
		}
		s.Patience = 0
		var found []int
		for next := int64(-1); next != 0; {
			r := activity.Request{Verbs: "Created,Closed"}
			if next > 0 {
				r.After = strconv.FormatInt(next, 10)
			}
			var items int
			items, next = ask(r)
			found = append(found, items)
		}
		if !slices.Equal(found, []int{1, 0, 1}) {
			t.Errorf("page by page: %v", found)
		}
		if items, _ := ask(activity.Request{MaxCount: "240"}); items != 240 {
			t.Errorf("%d items where all are shown", items)
		}
	})
}
