package db_test

import (
	"errors"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
)

// TestATurnIsNotForLongQueries checks that a query that takes too long ends its write, and that
// nothing of this write remains. It must not end another write: neither a write that shares the
// transaction nor a later write.
func TestATurnIsNotForLongQueries(t *testing.T) {
	d, _ := writtenFile(t)
	d.LimitTurnReads(time.Millisecond)
	const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n"
	long := func(id int, do func(tx *db.Tx) error) func() error {
		return func() error {
			return d.Write(t.Context(), func(tx *db.Tx) error {
				if err := insertID(t.Context(), tx, id); err != nil {
					return err
				}
				return db.ReadInTurn(tx, func() error { return do(tx) })
			})
		}
	}
	query := func(tx *db.Tx) error {
		var n int
		return tx.QueryRow(t.Context(), endless).Scan(&n)
	}
	for i := range 20 {
		errs := inOneTransaction(t, d, good(t, d, 10*i+1), long(10*i+2, query), good(t, d, 10*i+3),
			long(10*i+4, func(*db.Tx) error { panic("defect") }), good(t, d, 10*i+5))
		for n, ended := range []bool{false, true, false, true, false} {
			if (errs[n] != nil) != ended || n == 1 && !errors.Is(errs[n], db.ErrTurnRead) {
				t.Errorf("write %d: %v", n+1, errs[n])
			}
		}
	}
	for id := range ids(t, d) {
		if id%2 == 0 {
			t.Errorf("%d was written", id)
		}
	}
	if n := len(ids(t, d)); n != 60 {
		t.Errorf("%d rows stand, want 60", n)
	}
}
