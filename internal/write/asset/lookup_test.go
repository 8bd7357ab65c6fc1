package asset_test

import (
	"testing"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/oid"
)

// Lookup returns neither assets that the caller does not see nor assets that do not exist.
func TestLookup(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		w.must(
			create("Scope", "@p", "Name", "P", "Parent", "Scope:0", "BeginDate", "2026-01-01"),
			create("Story", "@a", "Name", "A", "Scope", "@p"),
			create("Story", "@b", "Name", "B", "Scope", "Scope:0"),
		)
		w.must(operate("Story:1002", "Delete"))
		asked := []oid.OID{{Type: "Workitem", ID: 1002}, {Type: "Story", ID: 1003}, {Type: "Task", ID: 1002}, {Type: "Role", ID: 1}, {Type: "Odd", ID: 1}}
		got, err := w.e.Lookup(t.Context(), w.d, auth.Actor{Member: 20, Scopes: []int64{1001}}, asked)
		if err != nil {
			t.Fatal(err)
		}
		if k := got[asked[0]]; k.OID.String() != "Story:1002" || !k.Deleted {
			t.Errorf("a deleted story named by its abstract type: %+v", k)
		}
		if k := got[asked[3]]; k.OID.String() != "Role:1" || k.Deleted {
			t.Errorf("an asset without a scope: %+v", k)
		}
		if len(got) != 2 {
			t.Errorf("hidden, of another type or unknown ones were found: %v", got)
		}
	})
}
