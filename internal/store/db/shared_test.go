package db_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testseed"
)

// unending is an INSERT that takes so long that only an interrupt ends it.
const unending = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000)
	INSERT INTO written (id) SELECT -i FROM n`

func writtenFile(t *testing.T) (d *db.DB, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "alds.db")
	d = openFile(t, path)
	exec(t, d, "CREATE TABLE written (id INTEGER PRIMARY KEY)")
	return d, path
}

func insertID(ctx context.Context, tx *db.Tx, id int) error {
	_, err := tx.Exec(ctx, "INSERT INTO written (id) VALUES (?)", id)
	return err
}

// ids returns the ids that a database has.
func ids(t *testing.T, d *db.DB) map[int]bool {
	t.Helper()
	all := map[int]bool{}
	err := db.Each(t.Context(), d, "SELECT id FROM written", nil, func(row db.Scanner) error {
		var id int
		err := row.Scan(&id)
		all[id] = true
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// inOneTransaction runs writes that wait for their turn in this order, so that they can share a
// transaction. It returns their errors.
func inOneTransaction(t *testing.T, d *db.DB, writes ...func() error) []error {
	t.Helper()
	end, err := d.TakeTurn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	errs := make([]error, len(writes))
	var all sync.WaitGroup
	for i, write := range writes {
		all.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					errs[i] = fmt.Errorf("panic: %v", p)
				}
			}()
			errs[i] = write()
		})
		for d.Waiting() <= i {
			runtime.Gosched()
		}
	}
	end()
	all.Wait()
	return errs
}

func good(t *testing.T, d *db.DB, id int) func() error {
	return func() error {
		return d.Write(t.Context(), func(tx *db.Tx) error { return insertID(t.Context(), tx, id) })
	}
}

func TestAWriteThatFailsLeavesThoseItSharesACommitWith(t *testing.T) {
	d, _ := writtenFile(t)
	broken := errors.New("broken")
	ended, end := context.WithCancel(t.Context())
	errs := inOneTransaction(t, d,
		func() error {
			return d.Write(t.Context(), func(tx *db.Tx) error { _ = insertID(t.Context(), tx, 1); return broken })
		},
		good(t, d, 2),
		func() error {
			return d.Write(t.Context(), func(tx *db.Tx) error { _ = insertID(t.Context(), tx, 3); return broken })
		},
		func() error {
			return d.Write(t.Context(), func(tx *db.Tx) error { _ = insertID(t.Context(), tx, 4); panic("defect") })
		},
		func() error {
			return d.Write(ended, func(tx *db.Tx) error { defer end(); return insertID(ended, tx, 5) })
		},
		good(t, d, 2),
		good(t, d, 6),
	)
	for i, want := range []string{"broken", "", "broken", "panic: defect", "the request took too long or was given up", "the value is already in use", ""} {
		if got := errs[i]; (got == nil) != (want == "") || got != nil && got.Error()[:min(len(want), len(got.Error()))] != want {
			t.Errorf("write %d: %v, want %q", i, got, want)
		}
	}
	if got := ids(t, d); len(got) != 2 || !got[2] || !got[6] {
		t.Errorf("written: %v", got)
	}
}

func TestACommitThatFailsFailsAllThatShareIt(t *testing.T) {
	d, _ := writtenFile(t)
	exec(t, d, "CREATE TABLE part (of INTEGER REFERENCES written (id) DEFERRABLE INITIALLY DEFERRED)")
	exec(t, d, "PRAGMA foreign_keys = 1")
	errs := inOneTransaction(t, d, good(t, d, 1),
		func() error {
			return d.Write(t.Context(), func(tx *db.Tx) error {
				_, err := tx.Exec(t.Context(), "INSERT INTO part VALUES (9)")
				return err
			})
		}, good(t, d, 2))
	for i, err := range errs {
		if err == nil {
			t.Errorf("write %d was answered without its commit", i)
		}
	}
	if got := ids(t, d); len(got) != 0 {
		t.Errorf("written: %v", got)
	}
}

func TestAnInterruptedWriteDoesNotTakeOthersWithIt(t *testing.T) {
	d, _ := writtenFile(t)
	ctx, end := context.WithCancel(t.Context())
	runs := 0
	errs := inOneTransaction(t, d,
		func() error {
			return d.Write(t.Context(), func(tx *db.Tx) error { runs++; return insertID(t.Context(), tx, 1) })
		},
		func() error {
			return d.Write(ctx, func(tx *db.Tx) error {
				go end() // while the statement runs, or before
				_, err := tx.Exec(ctx, unending)
				return err
			})
		},
		good(t, d, 2))
	if errs[0] != nil || fault.KindOf(errs[1]) != fault.Transient || errs[2] != nil {
		t.Errorf("errors: %v", errs)
	}
	if got := ids(t, d); len(got) != 2 || !got[1] || !got[2] {
		t.Errorf("written: %d ids, runs of the first: %d", len(got), runs)
	}
}

func TestALongWriteDoesNotKeepOthersWaiting(t *testing.T) {
	d, _ := writtenFile(t)
	answered := make(chan struct{})
	errs := inOneTransaction(t, d,
		func() error { defer close(answered); return good(t, d, 1)() },
		func() error {
			return d.Write(t.Context(), func(tx *db.Tx) error {
				for { // until the previous write has its answer
					select {
					case <-answered:
						return insertID(t.Context(), tx, 2)
					default:
					}
					if err := tx.QueryRow(t.Context(), "SELECT 1").Scan(new(int)); err != nil {
						return err
					}
				}
			})
		}, good(t, d, 3))
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	if got := ids(t, d); len(got) != 3 {
		t.Errorf("written: %v", got)
	}
}

// TestWhatIsAnsweredIsWrittenAndNothingElse runs many writes at the same time. Some fail,
// panic, are canceled before, during and after a statement, or end the transaction for all.
func TestWhatIsAnsweredIsWrittenAndNothingElse(t *testing.T) {
	const writers, each = 12, 60
	d, path := writtenFile(t)
	seed := testseed.New(t)
	var mu sync.Mutex
	answered := map[int]bool{} // by id: whether its write was answered without an error
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(w)))
			for i := range each {
				id := w*each + i
				ok := randomWrite(t.Context(), d, random, id)
				mu.Lock()
				answered[id] = ok
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	got := ids(t, openFile(t, path))
	n := 0
	for id, ok := range answered {
		if ok != got[id] {
			t.Errorf("id %d: answered %v, written %v", id, ok, got[id])
		}
		if ok {
			n++
		}
	}
	if n == 0 || n == len(answered) || len(got) != n {
		t.Errorf("%d of %d writes were answered, %d ids are written", n, len(answered), len(got))
	}
}

// randomWrite writes an id in one of many ways, and reports whether the write returned no
// error.
func randomWrite(ctx context.Context, d *db.DB, random *rand.Rand, id int) (ok bool) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	defer func() { _ = recover() }()
	kind := random.IntN(12)
	if kind == 1 {
		go end() // cancels ctx at a random moment
	}
	err := d.Write(ctx, func(tx *db.Tx) error {
		if kind == 2 { // a failed statement whose error fn does not return
			_, _ = tx.Exec(ctx, "INSERT INTO written (id) SELECT id FROM written LIMIT 1")
		}
		if err := insertID(ctx, tx, id); err != nil {
			return err
		}
		switch kind {
		case 3:
			return errors.New("broken")
		case 4:
			panic("defect")
		case 5:
			end()
		case 6: // an interrupt, which also rolls back the statements before it
			go end()
			_, err := tx.Exec(ctx, unending)
			return err
		case 7:
			go end()
			_, _ = tx.Exec(ctx, unending)
		case 8:
			return tx.Savepoint(ctx, func() error { return insertID(ctx, tx, id) }) // fails, because the id is in use
		}
		return nil
	})
	return err == nil
}

// TestWhatRunsAfterACommitThatFails checks that OnUndo functions run for all writes that
// share the commit.
func TestWhatRunsAfterACommitThatFails(t *testing.T) {
	d, _ := writtenFile(t)
	exec(t, d, "CREATE TABLE part (of INTEGER REFERENCES written (id) DEFERRABLE INITIALLY DEFERRED)")
	exec(t, d, "PRAGMA foreign_keys = 1")
	undone := map[int]bool{}
	write := func(i int, statement string) func() error {
		return func() error {
			return d.Write(t.Context(), func(tx *db.Tx) error {
				tx.OnUndo(func() { undone[i] = true })
				_, err := tx.Exec(t.Context(), statement)
				return err
			})
		}
	}
	_ = inOneTransaction(t, d, write(1, "INSERT INTO written VALUES (1)"), write(2, "INSERT INTO part VALUES (9)"), write(3, "INSERT INTO written VALUES (3)"))
	if len(undone) != 3 {
		t.Errorf("it ran for %v", undone)
	}
}
