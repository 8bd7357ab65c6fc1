package app

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
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

// TestFillAfterALostCommit checks that the filling of a new database is repeated if the answer to a
// commit was lost, but not after any other error.
func TestFillAfterALostCommit(t *testing.T) {
	lost, other := fmt.Errorf("insert: %w", db.ErrUnknownOutcome), errors.New("refused")
	for _, c := range []struct {
		errs []error // error of each run
		want error
	}{
		{[]error{nil}, nil},
		{[]error{lost, nil}, nil},
		{[]error{lost, lost}, lost},
		{[]error{other}, other},
	} {
		n := 0
		err := untilKnown(func() error { n++; return c.errs[n-1] })
		if !errors.Is(err, c.want) || n != len(c.errs) {
			t.Errorf("%v: %d runs, %v", c.errs, n, err)
		}
	}
}
