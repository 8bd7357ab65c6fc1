package db_test

import (
	"context"
	"net/url"
	"testing"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// onLine opens a migrated database of a server twice: directly, and through a line that can
// be cut.
func onLine(t *testing.T, conns int) (d, remote *db.DB, line *testdb.Line) {
	t.Helper()
	address := testdb.URL(t, "mysql")
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	line = testdb.NewLine(t, u.Host)
	u.Host = line.Addr
	open := func(address string) *db.DB {
		d, err := db.Open(t.Context(), address, db.Options{MaxConns: conns})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		return d
	}
	return open(address), open(u.String()), line
}

// triedAgain reports whether a write has had two attempts. In the short form it may have had more, because a
// busy machine may exceed the limit for an idle transaction again.
func triedAgain(attempts int) bool { return attempts == 2 || attempts > 2 && testing.Short() }

// TestATransactionOutOfReachStopsNobodyElse cuts the network of a process that has locked a
// row. Other processes can still write the row. When the network is back, the process runs
// its write again from the beginning.
func TestATransactionOutOfReachStopsNobodyElse(t *testing.T) {
	t.Parallel() // it mostly waits
	d, remote, line := onLine(t, 8)
	ctx := t.Context()
	attempts := 0
	err := remote.Write(ctx, func(tx *db.Tx) error {
		if attempts++; attempts > 1 {
			return add(ctx, tx, "id")
		}
		if err := add(ctx, tx, "id"); err != nil {
			return err
		}
		line.Freeze()
		defer line.Thaw()
		return d.Write(ctx, func(tx *db.Tx) error { return add(ctx, tx, "id") })
	})
	if err != nil || !triedAgain(attempts) {
		t.Errorf("the write that was out of reach: %v, in attempt %d; want none, in the second", err, attempts)
	}
	if got := value(t, d, "id"); got != 1002 {
		t.Errorf("after two writes the value is %d, want 1002", got)
	}
}

// TestAStatementOnItsWayStopsNobodyElse checks the same as the test above for a statement, or the
// answer to a statement, that is stuck in the network.
func TestAStatementOnItsWayStopsNobodyElse(t *testing.T) {
	t.Parallel() // it mostly waits
	d, remote, line := onLine(t, 8)
	ctx := t.Context()
	large := make([]byte, 12<<20)
	for name, stuck := range map[string]func(tx *db.Tx) error{
		"answer": func(tx *db.Tx) error {
			rows, err := tx.Query(ctx, "SELECT REPEAT('x', 1000000) FROM sequence a JOIN sequence b JOIN sequence c JOIN sequence d LIMIT 200")
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
			}
			return rows.Err()
		},
		"statement": func(tx *db.Tx) error {
			_, err := tx.Exec(ctx, "UPDATE sequence SET value = value + LENGTH(?) * 0 WHERE name = 'audit'", large)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			before, attempts := value(t, d, "id"), 0
			err := remote.Write(ctx, func(tx *db.Tx) error {
				attempts++
				if err := add(ctx, tx, "id"); err != nil || attempts > 1 {
					return err
				}
				line.FreezeAfter(1 << 20)
				over := make(chan error, 1)
				go func() {
					defer line.Thaw()
					over <- d.Write(ctx, func(tx *db.Tx) error { return add(ctx, tx, "id") })
				}()
				err := stuck(tx)
				if other := <-over; other != nil {
					t.Errorf("another write: %v", other)
				}
				return err
			})
			if err != nil || !triedAgain(attempts) {
				t.Errorf("the write that was out of reach: %v, in attempt %d; want none, in the second", err, attempts)
			}
			if got := value(t, d, "id"); got != before+2 {
				t.Errorf("after two writes the value is %d, want %d", got, before+2)
			}
		})
	}
}

// TestATransactionThatComputesIsKept checks that a process keeps its transaction while it
// computes and sends no statement for longer than the limit.
func TestATransactionThatComputesIsKept(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		attempts := 0
		err := d.Write(ctx, func(tx *db.Tx) error {
			attempts++
			if err := add(ctx, tx, "id"); err != nil {
				return err
			}
			if err := d.AwaitKept(ctx, 4); err != nil { // four statements of the keeper take longer than idleLimit
				return err
			}
			return add(ctx, tx, "id")
		})
		if err != nil || value(t, d, "id") != 1002 {
			t.Errorf("%v, value %d, want 1002", err, value(t, d, "id"))
		}
		if attempts != 1 && !testing.Short() { // a busy machine may run the keeper too late
			t.Errorf("%d attempts", attempts)
		}
	})
}

// TestAKilledTransactionRunsAgain checks a transaction that the server has ended between two
// statements. It is not committed, and the error of its COMMIT does not make the outcome
// unknown.
func TestAKilledTransactionRunsAgain(t *testing.T) {
	_, d, _ := onLine(t, 8)
	ctx := t.Context()
	attempts := 0
	err := d.Write(ctx, func(tx *db.Tx) error {
		attempts++
		if err := add(ctx, tx, "id"); err != nil || attempts > 1 {
			return err
		}
		var id int64
		if err := tx.QueryRow(ctx, "SELECT CONNECTION_ID()").Scan(&id); err != nil {
			return err
		}
		if err := d.KillNow(context.WithoutCancel(ctx), id); err != nil {
			return err
		}
		return d.AwaitLost(ctx)
	})
	if err != nil || attempts != 2 || value(t, d, "id") != 1001 {
		t.Errorf("%v (%v), in attempt %d, value %d; want 1001 in the second", err, fault.KindOf(err), attempts, value(t, d, "id"))
	}
}
