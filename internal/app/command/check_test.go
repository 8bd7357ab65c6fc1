package command

import (
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestCheckCommand(t *testing.T) {
	for _, dialect := range []string{"mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			settings := migrated(t, dialect)
			run := func() (string, error) { return output(t, settings, "check") }
			if out, err := run(); err != nil {
				t.Fatalf("a new database: %v\n%s", err, out)
			}
			d := open(t, settings)
			testdb.Exec(t, d, "UPDATE asset SET name = 'altered by hand' WHERE id = 20")
			if out, err := run(); err == nil || !strings.Contains(out, "20") {
				t.Errorf("an asset that is not its current version: %v\n%s", err, out)
			}
			for _, statement := range []string{
				"UPDATE asset SET name = 'by hand' WHERE id <> 0", "UPDATE asset_version SET audit_id = 999 WHERE id <> 0", "UPDATE asset_version SET state = 300 WHERE id <> 0",
				"INSERT INTO blob_part (content, n, bytes) VALUES ('a', 0, 'x'), ('b', 0, 'x'), ('c', 0, 'x')",
			} {
				testdb.Exec(t, d, statement)
			}
			if out, err := run(); err == nil || strings.Count(out, "\nbytes: ") != 3 {
				t.Errorf("contents beside the findings of other checks: %v\n%s", err, out)
			}
		})
	}
}
