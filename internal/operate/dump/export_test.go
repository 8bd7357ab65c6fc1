package dump

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/tables"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// writer is a function that implements io.Writer.
type writer func([]byte) (int, error)

// Write calls the function.
func (f writer) Write(b []byte) (int, error) { return f(b) }

// TestNoStatementWaitsForTheReaderOfAnExport checks that no statement runs at the database server
// while an export is written. A statement that waits for a slow reader would exceed its time limit.
func TestNoStatementWaitsForTheReaderOfAnExport(t *testing.T) {
	d := testdb.MySQL(t)
	err := d.Write(t.Context(), func(tx *db.Tx) error {
		for n := range 300 { // more rows than fit into the buffers of a connection
			_, err := tx.Exec(t.Context(), `INSERT INTO asset_text (asset_id, hash, text) VALUES (?, ?, ?)`, 1000+n/3, fmt.Appendf(nil, "%016d", n), strings.Repeat("x", 64<<10))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	asked, written := 0, 0
	out := writer(func(b []byte) (int, error) {
		running, err := 1, error(nil)
		// A statement that has sent all rows ends soon.
		for tries := 0; tries < 1000 && running > 0 && err == nil; tries++ {
			err = d.QueryRow(t.Context(), `SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND command IN ('Query', 'Execute') AND id <> CONNECTION_ID()`).Scan(&running)
		}
		if running > 0 {
			t.Errorf("%d statements run while %d bytes go out", running, len(b))
		}
		asked++
		written += bytes.Count(b, []byte("\n"))
		return len(b), err
	})
	rows, err := Write(t.Context(), d, out, "0", func(string, int64) {})
	if err != nil || asked < 10 || rows < 300 || int64(written) < rows {
		t.Errorf("%d rows, %d lines in %d parts: %v", rows, written, asked, err)
	}
}

// TestTablesAreTheSameEverywhere checks that all dialects have the same columns, so that an export
// can be restored into each of them.
func TestTablesAreTheSameEverywhere(t *testing.T) {
	of := map[string]string{}
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		all, err := tables.All(t.Context(), d, d.Dialect)
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range all {
			line := ""
			for _, c := range table.Columns {
				line += c.String() + " "
			}
			if of[table.Name] == "" {
				of[table.Name] = line
			}
			if of[table.Name] != line {
				t.Errorf("%s\n%s\nelsewhere\n%s", table.Name, line, of[table.Name])
			}
		}
	})
}
