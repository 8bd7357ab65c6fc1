package activity_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/events/activity"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/rest"
	"github.com/alds-dev/alds/internal/write/seed"
)

// TestWhatLeftIsReadInParts reads the stream of a project that many large assets have left. Reading
// a small part of the stream must need only the memory of a few assets. All parts together must
// contain each change once, in order.
func TestWhatLeftIsReadInParts(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		const stories, size = 60, 20_000
		s, project := leaving(t, d, stories, size)
		read := func(r activity.Request, memoryFor int64) ([]any, int64) {
			t.Helper()
			hold := memory.NewBudget(2 * memoryFor * size).Hold(1)
			defer hold.Release()
			r.OID = project
			a, err := s.Stream(memory.With(t.Context(), hold), auth.System, r)
			if err != nil {
				t.Fatalf("%+v: %v", r, err)
			}
			var items []any
			if err := json.Unmarshal(a.Body, &items); err != nil {
				t.Fatal(err)
			}
			return items, a.Next
		}
		for _, r := range []activity.Request{{Direction: "back"}, {Direction: "forward", After: "0"}} {
			all := r
			all.MaxCount = "1000"
			want, _ := read(all, 20*stories)
			if len(want) != 2*stories+1 {
				t.Fatalf("%s: %d items", r.Direction, len(want))
			}
			counts := []string{"1", "7"}
			if testing.Short() {
				counts = counts[1:]
			}
			for _, count := range counts {
				r.MaxCount, r.After = count, all.After
				var got []any
				for next := int64(-1); next != 0; r.After = strconv.FormatInt(next, 10) {
					var items []any
					items, next = read(r, 60)
					got = append(got, items...)
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%s by %s: %d items, want %d", r.Direction, count, len(got), len(want))
				}
			}
		}
	})
}

// leaving creates a project and writes stories into it. Then it moves the stories to another
// project.
func leaving(t *testing.T, d *db.DB, stories, size int) (s *activity.Service, project string) {
	t.Helper()
	model := meta.Default()
	if err := seed.Run(t.Context(), d, model); err != nil {
		t.Fatal(err)
	}
	finder := find.New(d, model)
	writer := rest.New(asset.New(d, model, nil, nil), finder)
	write := func(w rest.Write) {
		t.Helper()
		if _, err := writer.Write(t.Context(), auth.System, w); err != nil {
			t.Fatal(err)
		}
	}
	write(rest.Write{Type: "Scope", Body: []byte(`{"Attributes":{"Name":"P","Parent":"Scope:0","BeginDate":"2026-01-01"}}`)}) // Scope:1001
	for i := range stories {
		write(rest.Write{Type: "Story", Body: fmt.Appendf(nil, `{"Attributes":{"Name":"S%d","Scope":"Scope:1001","Description":"%s"}}`, i, strings.Repeat("x", size))})
	}
	for i := range stories {
		write(rest.Write{Type: "Story", ID: strconv.Itoa(1002 + i), Body: []byte(`{"Attributes":{"Scope":"Scope:0"}}`)})
	}
	return activity.New(d, model, finder), "Scope:1001"
}

// TestAMomentThatCannotBeIsRefused checks that the parameter after is refused if its number cannot
// be a moment.
func TestAMomentThatCannotBeIsRefused(t *testing.T) {
	s := activity.New(testdb.SQLite(t), meta.Default(), nil)
	for _, after := range []string{"9223372036854775807", "9223372036854775808", "-1"} {
		_, err := s.Stream(t.Context(), auth.System, activity.Request{OID: "Story:1001", Direction: "forward", After: after})
		if fault.KindOf(err) != fault.Invalid || err.Error() != "Invalid after: "+after {
			t.Errorf("after %s: %v", after, err)
		}
	}
}
