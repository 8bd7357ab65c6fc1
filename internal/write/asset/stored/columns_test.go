package stored

import (
	"slices"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// keyColumns are the columns in the indexes of the table asset. An update omits them unless they
// change.
func TestKeyColumns(t *testing.T) {
	d := testdb.SQLite(t)
	named, err := db.Column[string](t.Context(), d, `SELECT DISTINCT c.name FROM pragma_index_list(?) i, pragma_index_info(i.name) c`, "asset")
	if err != nil {
		t.Fatal(err)
	}
	named = slices.DeleteFunc(named, func(name string) bool { return slices.Contains(fixed, name) })
	want := slices.Clone(keyColumns)
	slices.Sort(named)
	slices.Sort(want)
	if !slices.Equal(named, want) {
		t.Errorf("keys of asset have the columns %s", strings.Join(named, ", "))
	}
}
