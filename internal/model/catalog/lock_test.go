package catalog_test

import (
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/model/catalog"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestWritesAreCountedOnceSomebodyReadsElsewhere checks that ReadElsewhere waits for uncounted
// writes. After that, each write raises the position of the members that must see it.
func TestWritesAreCountedOnceSomebodyReadsElsewhere(t *testing.T) {
	d := testdb.MySQL(t)
	position := func(member int64) (n int64) {
		t.Helper()
		if err := d.QueryRow(t.Context(), catalog.Position, member).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	write := func(member int64, everybody bool, before func()) {
		err := d.Write(t.Context(), func(tx *db.Tx) error {
			if err := catalog.LockWrite(t.Context(), tx); err != nil {
				return err
			}
			if err := catalog.NoteWrite(t.Context(), tx, member, everybody); err != nil {
				return err
			}
			if _, err := tx.Exec(t.Context(), `UPDATE sequence SET value = value WHERE name = 'model'`); err != nil {
				return err
			}
			before()
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	generation := func() int64 {
		t.Helper()
		n, err := catalog.Generation(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	known, before := catalog.New(d, meta.Default(), catalog.Options{}), generation()
	if err := known.Refresh(t.Context()); err != nil || known.Present().ReadElsewhere {
		t.Errorf("a catalog knows that somebody reads elsewhere, before anybody does: %v", err)
	}
	write(1, true, func() {})
	if at := position(1); at != 0 {
		t.Errorf("%d before anybody reads elsewhere", at)
	}
	begun, end, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		write(1, false, func() { close(begun); <-end })
	}()
	<-begun
	noted := make(chan error)
	go func() { noted <- catalog.ReadElsewhere(t.Context(), d) }()
	select {
	case err := <-noted:
		t.Fatalf("a write that is not counted has not ended: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	close(end)
	<-ended
	if err := <-noted; err != nil {
		t.Fatal(err)
	}
	now := generation()
	if now != before+1 {
		t.Errorf("the model's generation was %d and is %d: who does not count is not told", before, now)
	}
	if err := known.Refresh(t.Context()); err != nil || !known.Present().ReadElsewhere {
		t.Errorf("a catalog does not know that somebody reads elsewhere: %v", err)
	}
	if err := catalog.ReadElsewhere(t.Context(), d); err != nil || generation() != now {
		t.Fatalf("again: generation %d, %v", generation(), err)
	}
	for _, c := range []struct {
		member    int64
		everybody bool
		want      [2]int64 // positions of members 1 and 2
	}{{1, false, [2]int64{2, 1}}, {1, false, [2]int64{3, 1}}, {2, false, [2]int64{3, 2}}, {2, true, [2]int64{4, 4}}} {
		write(c.member, c.everybody, func() {})
		if got := [2]int64{position(1), position(2)}; got != c.want {
			t.Errorf("after a write of %d, everybody %v: %v, want %v", c.member, c.everybody, got, c.want)
		}
	}
}
