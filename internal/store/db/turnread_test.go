package db_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
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
				return db.ReadInTurn(t.Context(), tx, func(context.Context) error { return do(tx) })
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

// TestLocksAreNotHeldForLongQueries checks that on a server, too, a long query ends the write of
// which it is a part, if the write may have locked rows. A query before that has the usual limit.
func TestLocksAreNotHeldForLongQueries(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		if d.Dialect.IsAlone {
			return // see TestATurnIsNotForLongQueries
		}
		ctx := t.Context()
		if err := d.Write(ctx, func(tx *db.Tx) error {
			_, err := tx.Exec(ctx, "CREATE TABLE written (id INT PRIMARY KEY, "+db.LockCount+" INT DEFAULT 0)")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if err := good(t, d, 1)(); err != nil {
			t.Fatal(err)
		}
		d.LimitTurnReads(100 * time.Millisecond)
		sleep := func(tx *db.Tx, seconds string) error {
			return db.ReadInTurn(ctx, tx, func(ctx context.Context) error {
				var n int
				return tx.QueryRow(ctx, "SELECT SLEEP("+seconds+")").Scan(&n)
			})
		}
		for name, lock := range map[string]func(tx *db.Tx) error{
			"an insert":         func(tx *db.Tx) error { return insertID(ctx, tx, 2) },
			"a lock":            func(tx *db.Tx) error { _, err := tx.Lock(ctx, "written", "id = ?", 1); return err },
			"a lock sent later": func(tx *db.Tx) error { return tx.LockLater(ctx, "written", "id = ?", 1) },
		} {
			err := d.Write(ctx, func(tx *db.Tx) error {
				if err := sleep(tx, "0.3"); err != nil {
					t.Errorf("%s: before it: %v", name, err)
				}
				if err := lock(tx); err != nil {
					return err
				}
				return sleep(tx, "600")
			})
			if !errors.Is(err, db.ErrLockedRead) {
				t.Errorf("%s: %v", name, err)
			}
			if err := d.Write(ctx, func(tx *db.Tx) error { _, err := tx.Lock(ctx, "written", "id = ?", 1); return err }); err != nil {
				t.Errorf("%s: afterwards: %v", name, err)
			}
		}
		d.LimitTurnReads(time.Minute)
		if err := d.Write(ctx, func(tx *db.Tx) error { return errors.Join(insertID(ctx, tx, 2), sleep(tx, "0.001")) }); err != nil {
			t.Errorf("a short query: %v", err)
		}
	})
}
