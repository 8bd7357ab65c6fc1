package db_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func value(t *testing.T, q db.Querier, name string) int64 {
	t.Helper()
	var v int64
	if err := q.QueryRow(context.Background(), "SELECT value FROM sequence WHERE name = ?", name).Scan(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func add(ctx context.Context, tx *db.Tx, name string) error {
	_, err := tx.Exec(ctx, "UPDATE sequence SET value = value + 1 WHERE name = ?", name)
	return err
}

func TestWriteIsAllOrNothing(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		ctx := context.Background()
		broken := errors.New("broken")
		err := d.Write(ctx, func(tx *db.Tx) error {
			if err := add(ctx, tx, "id"); err != nil {
				return err
			}
			return broken
		})
		if !errors.Is(err, broken) || value(t, d, "id") != 1000 {
			t.Errorf("after a failure: %v, value %d", err, value(t, d, "id"))
		}
		if err := d.Write(ctx, func(tx *db.Tx) error { return add(ctx, tx, "id") }); err != nil || value(t, d, "id") != 1001 {
			t.Errorf("after success: %v, value %d", err, value(t, d, "id"))
		}
	})
}

func TestPanicRollsBackAndFreesTheConnection(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		ctx := context.Background()
		func() {
			defer func() { _ = recover() }()
			_ = d.Write(ctx, func(tx *db.Tx) error { _ = add(ctx, tx, "id"); panic("defect") })
		}()
		if err := d.Write(ctx, func(tx *db.Tx) error { return add(ctx, tx, "audit") }); err != nil {
			t.Fatal(err)
		}
		if value(t, d, "id") != 1000 {
			t.Error("the write of a function that panicked stands")
		}
	})
}

func TestReadSeesOneSnapshot(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		ctx := context.Background()
		err := d.Read(ctx, func(tx *db.Tx) error {
			before := value(t, tx, "id")
			if err := d.Write(ctx, func(w *db.Tx) error { return add(ctx, w, "id") }); err != nil {
				return err
			}
			if after := value(t, tx, "id"); after != before {
				t.Errorf("the snapshot moved from %d to %d", before, after)
			}
			return nil
		})
		if err != nil || value(t, d, "id") != 1001 {
			t.Errorf("%v, value %d", err, value(t, d, "id"))
		}
	})
}

func TestReadMayNotWrite(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		ctx := context.Background()
		if err := d.Read(ctx, func(tx *db.Tx) error { return add(ctx, tx, "id") }); err == nil {
			t.Error("no error")
		}
		if value(t, d, "id") != 1000 {
			t.Error("a read wrote")
		}
	})
}

func TestErrorsHaveTheirKinds(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		ctx := context.Background()
		var v int64
		if err := d.QueryRow(ctx, "SELECT value FROM sequence WHERE name = ?", "no such").Scan(&v); fault.KindOf(err) != fault.NotFound {
			t.Errorf("no rows: %v", err)
		}
		insert := "INSERT INTO credential (member_id, username, folded, version, disabled) VALUES (?, ?, 'andré', 1, 0)"
		err := d.Write(ctx, func(tx *db.Tx) error {
			if _, err := tx.Exec(ctx, insert, 1, "andré"); err != nil {
				return err
			}
			err := tx.Savepoint(ctx, func() error {
				if err := add(ctx, tx, "id"); err != nil {
					return err
				}
				_, err := tx.Exec(ctx, insert, 2, "ANDRÉ")
				return err
			})
			if fault.KindOf(err) != fault.Conflict {
				t.Errorf("the same username in other letters: %v", err)
			}
			_, err = tx.Exec(ctx, strings.Replace(insert, "andré", "anders", 1), 3, "anders")
			return err
		})
		if err != nil || value(t, d, "id") != 1000 {
			t.Errorf("after a savepoint was undone: %v, value %d", err, value(t, d, "id"))
		}
		if _, err := db.Column[int](ctx, d, "SELECT nothing FROM nowhere"); err == nil || fault.KindOf(err) != fault.Internal {
			t.Errorf("a wrong statement: %v", err)
		}
	})
}

func TestRowsAffectedCountsMatchedRows(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		r, err := d.Exec(context.Background(), "UPDATE sequence SET value = value WHERE name = ?", "id")
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := r.RowsAffected(); n != 1 {
			t.Errorf("an update that changes nothing matched %d rows, want 1", n)
		}
	})
}

// TestDeadlockRunsAgain makes two transactions lock two rows in opposite order.
func TestDeadlockRunsAgain(t *testing.T) {
	d := testdb.MySQL(t)
	ctx := context.Background()
	var first sync.WaitGroup // both have their first lock
	first.Add(2)
	var mu sync.Mutex
	runs := 0
	both := func(one, two string) error {
		once := sync.OnceFunc(func() { first.Done(); first.Wait() })
		return d.Write(ctx, func(tx *db.Tx) error {
			mu.Lock()
			runs++
			mu.Unlock()
			if err := add(ctx, tx, one); err != nil {
				return err
			}
			once()
			_ = add(ctx, tx, two) // a caller that swallows the error must not lose the write
			return nil
		})
	}
	var wg sync.WaitGroup
	errs := make([]error, 2)
	wg.Go(func() { errs[0] = both("id", "audit") })
	wg.Go(func() { errs[1] = both("audit", "id") })
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if runs < 3 {
		t.Errorf("%d runs: there was no deadlock", runs)
	}
	if a, b := value(t, d, "id"), value(t, d, "audit"); a != 1002 || b != 2 {
		t.Errorf("id %d, audit %d; want 1002 and 2", a, b)
	}
}

func TestDoomedTransactionRunsNothingMore(t *testing.T) {
	d := testdb.MySQL(t)
	ctx := context.Background()
	runs := 0
	err := d.Write(ctx, func(tx *db.Tx) error {
		runs++
		if err := add(ctx, tx, "id"); err != nil {
			return err
		}
		kill(t, d, tx)
		if err := add(ctx, tx, "id"); fault.KindOf(err) != fault.Transient {
			t.Errorf("on a killed connection: %v", err)
		}
		if err := add(ctx, tx, "audit"); fault.KindOf(err) != fault.Transient {
			t.Errorf("after it: %v", err)
		}
		return nil
	})
	if fault.KindOf(err) != fault.Transient || errors.Is(err, db.ErrUnknownOutcome) || runs != 5 {
		t.Errorf("%d runs, %v; want 5 runs and Transient", runs, err)
	}
	if value(t, d, "id") != 1000 || value(t, d, "audit") != 0 {
		t.Error("something of it was written")
	}
}

// kill ends the connection of tx from another connection, and waits until it is gone.
func kill(t *testing.T, d *db.DB, tx *db.Tx) {
	t.Helper()
	ctx := context.Background()
	var id int64
	if err := tx.QueryRow(ctx, "SELECT CONNECTION_ID()").Scan(&id); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Exec(ctx, fmt.Sprintf("KILL %d", id)); err != nil {
		t.Fatal(err)
	}
	for n := 1; n > 0; {
		if err := d.QueryRow(ctx, "SELECT COUNT(*) FROM information_schema.processlist WHERE id = ?", id).Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
}

func TestConnectionLostAtCommitIsUnknown(t *testing.T) {
	d := testdb.MySQL(t)
	ctx := context.Background()
	runs := 0
	err := d.Write(ctx, func(tx *db.Tx) error {
		runs++
		if err := add(ctx, tx, "id"); err != nil {
			return err
		}
		kill(t, d, tx)
		return nil
	})
	if !errors.Is(err, db.ErrUnknownOutcome) || fault.KindOf(err) != fault.Transient || runs != 1 {
		t.Errorf("%d runs, %v; want one and ErrUnknownOutcome", runs, err)
	}
	if err := d.Write(ctx, func(tx *db.Tx) error { return add(ctx, tx, "id") }); err != nil {
		t.Errorf("the pool did not recover: %v", err)
	}
}

func TestWriteHasATimeLimit(t *testing.T) {
	for _, dialect := range []string{"mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			ctx := context.Background()
			d, err := db.Open(ctx, testdb.URL(t, dialect), db.Options{WriteLimit: 150 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = d.Close() }()
			err = d.Write(ctx, func(tx *db.Tx) error { // only the time limit ends the write
				for {
					if err := add(ctx, tx, "id"); err != nil {
						return err
					}
				}
			})
			if fault.KindOf(err) != fault.Transient {
				t.Error(err)
			}
			if value(t, d, "id") != 1000 {
				t.Error("something of it was written")
			}
		})
	}
}

func TestSmallGoesOnInsideWrite(t *testing.T) {
	d := testdb.MySQL(t)
	ctx := context.Background()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var all sync.WaitGroup
	for range 40 { // more than there are connections
		all.Go(func() {
			err := d.Write(ctx, func(tx *db.Tx) error {
				if _, err := tx.Exec(ctx, "SELECT 1 FROM tree_lock WHERE name = ?", "none"); err != nil {
					return err
				}
				return d.Small(ctx, func(s *db.Tx) error { return add(ctx, s, "moment") })
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := value(t, d, "moment"); got != 1040 {
		t.Errorf("moment %d, want 1040", got)
	}
	if !d.Dialect.SmallInside || testdb.SQLite(t).Dialect.SmallInside {
		t.Error("SmallInside does not say so")
	}
}

func TestManyWritersTakeTurns(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		ctx := context.Background()
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 5 {
					if err := d.Write(ctx, func(tx *db.Tx) error { return add(ctx, tx, "id") }); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if got := value(t, d, "id"); got != 1040 {
			t.Errorf("id %d, want 1040", got)
		}
	})
}

func TestUnreachableServerIsTransient(t *testing.T) {
	_, err := db.Open(context.Background(), "mysql://u:hunter2@127.0.0.1:1/x", db.Options{})
	if fault.KindOf(err) != fault.Transient {
		t.Errorf("got %v", err)
	}
	for _, address := range []string{"", "postgres://x", "mysql://", "mysql://h/", "mysql://u:p@h/d?x=1", "sqlite:", "mysql://u:%zz@h/d"} {
		if _, err := db.Open(context.Background(), address, db.Options{}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// TestWhatRunsAfterARollback checks that OnUndo functions run once if what was written until
// then is rolled back, for any reason, and otherwise never.
func TestWhatRunsAfterARollback(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		broken := errors.New("broken")
		for name, c := range map[string]struct {
			write func(tx *db.Tx, note func(string)) error
			want  string
		}{
			"it stands": {func(tx *db.Tx, note func(string)) error { note("a"); return nil }, ""},
			"it fails":  {func(tx *db.Tx, note func(string)) error { note("a"); note("b"); return broken }, "ab"},
			"a part fails": {func(tx *db.Tx, note func(string)) error {
				note("a")
				if err := tx.Savepoint(t.Context(), func() error { note("b"); return broken }); !errors.Is(err, broken) {
					t.Error(err)
				}
				return tx.Savepoint(t.Context(), func() error { note("c"); return nil })
			}, "b"},
			"a part fails, then all": {func(tx *db.Tx, note func(string)) error {
				_ = tx.Savepoint(t.Context(), func() error { note("a"); return broken })
				note("b")
				return broken
			}, "ab"},
			"it panics": {func(tx *db.Tx, note func(string)) error { note("a"); panic("defect") }, "a"},
		} {
			got := ""
			func() {
				defer func() { _ = recover() }()
				_ = d.Write(t.Context(), func(tx *db.Tx) error {
					return c.write(tx, func(s string) { tx.OnUndo(func() { got += s }) })
				})
			}()
			if got != c.want {
				t.Errorf("%s: %q ran, want %q", name, got, c.want)
			}
		}
	})
}
