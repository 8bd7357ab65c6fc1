package webhook

import (
	"fmt"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestExpect counts the subscriptions that a write will be sent to, in its transaction.
func TestExpect(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		for _, definition := range []map[string]any{
			{"type": "AssetChanged", "from": "Story", "filter": []any{"Name='wanted'"}},
			{"type": "AssetChanged", "from": "Workitem", "attributes": []any{"Name"}},
			{"type": "AssetCreated", "from": "Story"},
			{"type": "AssetCreated", "from": "Epic"},
		} {
			f.subscribe("https://hooks.example.org/", map[string]any{"eventTypes": []any{definition}})
		}
		expect, err := f.s.Expect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := func(why string, n int) {
			t.Helper()
			err := d.Write(t.Context(), func(tx *db.Tx) error {
				var first, last int64
				if err := tx.QueryRow(t.Context(), `SELECT first_moment, last_moment FROM audit WHERE id = ?`, f.audit).Scan(&first, &last); err != nil {
					return err
				}
				got, err := expect(t.Context(), tx, f.audit, 20, first, last)
				if got != n {
					t.Errorf("%s: %d subscriptions, want %d", why, got, n)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		id := f.story("S")
		want("a new story", 1)
		f.rename(id, "wanted")
		want("a name that a filter wants", 2)
		f.rename(id, "other")
		want("another name", 1)
		f.write(20, edit{asset: id, set: map[string]any{"estimate": 3.0}})
		want("another attribute", 0)
	})
}

// TestLargeTextsAreReplaced checks that a preview, and the number of subscriptions that a write will be sent to, take
// changes whose texts before the change are too large to be read together.
func TestLargeTextsAreReplaced(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		definitions := map[string]any{"eventTypes": []any{map[string]any{"type": "AssetChanged", "from": "Story"}}}
		f.subscribe("https://hooks.example.org/", definitions)
		var shorter []edit
		for i := range 12 {
			id := f.story(fmt.Sprint("S", i))
			f.write(20, edit{asset: id, set: map[string]any{"attrs": `{"Reference":"` + strings.Repeat("x", change.MaxBytes/8) + `"}`}})
			shorter = append(shorter, edit{asset: id, set: map[string]any{"attrs": `{"Reference":"short"}`}})
		}
		f.write(20, shorter...)
		expect, err := f.s.Expect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got int
		err = d.Write(t.Context(), func(tx *db.Tx) error {
			got, err = expect(t.Context(), tx, f.audit, 20, f.moment-int64(len(shorter))+1, f.moment)
			return err
		})
		if err != nil || got != 1 {
			t.Errorf("%d subscriptions, want 1: %v", got, err)
		}
		p, err := f.s.Preview(t.Context(), f.who, asJSON(t, definitions))
		if err != nil || p.Matched < len(shorter) {
			t.Errorf("%d changes match, want at least %d: %v", p.Matched, len(shorter), err)
		}
	})
}
