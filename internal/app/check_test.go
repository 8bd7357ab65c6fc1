package app

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestCheckCommand(t *testing.T) {
	for _, dialect := range []string{"mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			url := testdb.URL(t, dialect)
			settings := map[string]string{"DATABASE_URL": url}
			getenv := env(settings)
			if err := Migrate(t.Context(), Environment{Getenv: getenv, Stderr: io.Discard}, API); err != nil {
				t.Fatal(err)
			}
			run := func() (string, error) {
				var out bytes.Buffer
				err := command(t.Context(), []string{"check"}, outside{Environment: Environment{Getenv: getenv, Stderr: io.Discard}, stdout: &out}, API)
				return out.String(), err
			}
			if out, err := run(); err != nil {
				t.Fatalf("a new database: %v\n%s", err, out)
			}
			d, err := db.Open(t.Context(), url, db.Options{MaxConns: 2})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = d.Close() }()
			if _, err := d.Exec(t.Context(), "UPDATE asset SET name = 'altered by hand' WHERE id = 20"); err != nil {
				t.Fatal(err)
			}
			if out, err := run(); err == nil || !strings.Contains(out, "20") {
				t.Errorf("an asset that is not its current version: %v\n%s", err, out)
			}
			for _, statement := range []string{
				"UPDATE asset SET name = 'by hand' WHERE id <> 0", "UPDATE asset_version SET audit_id = 999 WHERE id <> 0", "UPDATE asset_version SET state = 300 WHERE id <> 0",
				"INSERT INTO blob_part (content, n, bytes) VALUES ('a', 0, 'x'), ('b', 0, 'x'), ('c', 0, 'x')",
			} {
				if _, err := d.Exec(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			if out, err := run(); err == nil || strings.Count(out, "\nbytes: ") != 3 {
				t.Errorf("contents beside the findings of other checks: %v\n%s", err, out)
			}
		})
	}
}
