package history_test

import (
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
)

// later waits until the clock of the database has moved on by more than the blob.Options.Grace of
// these tests.
func later(t *testing.T, d *db.DB) {
	t.Helper()
	now := func() (micros int64) {
		if err := d.QueryRow(t.Context(), "SELECT "+d.Dialect.NowMicros).Scan(&micros); err != nil {
			t.Fatal(err)
		}
		return micros
	}
	for began := now(); now() <= began+1; {
	}
}
