package app

import (
	"io"
	"sync"
	"testing"

	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestMigrateAtOnce checks that migrate succeeds on several machines that run it at the same time
// on a new database.
func TestMigrateAtOnce(t *testing.T) {
	e := Environment{Getenv: env(map[string]string{"DATABASE_URL": testdb.EmptyURL(t, "mysql")}), Stderr: io.Discard}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if err := Migrate(t.Context(), e, API); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
