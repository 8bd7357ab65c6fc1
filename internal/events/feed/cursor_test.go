package feed

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/asset"
)

func TestACursorComesBack(t *testing.T) {
	s := newService(testdb.SQLite(t))
	for _, c := range []Cursor{{}, {1, 0}, {1272, 1265}, {1272, 0}, {math.MaxInt64 - 1, math.MaxInt64 - 1}} {
		if got, err := s.cursor(t.Context(), c.String()); err != nil || got != c {
			t.Errorf("%s comes back as %s, %v", c, got, err)
		}
	}
	if got, err := s.cursor(t.Context(), "0"); err != nil || got != (Cursor{}) {
		t.Errorf("the beginning is %s, %v", got, err)
	}
}

func TestWhatIsNoCursorIsRefused(t *testing.T) {
	s := newService(testdb.SQLite(t))
	for _, text := range []string{
		"a", "1.", ".1", ".", "1.2.3", "-1", "-1.0", "1.-1", "01", "01.1", "1.01", "+1.1", "1.+1", " 1.1", "1.1 ", "1,1", "0x1.1", "1e3.1",
		"9223372036854775808.1", "1.9223372036854775808", "9223372036854775808", "1.1\x00",
		"9223372036854775807.1", "1.9223372036854775807", "9223372036854775807", "١.١",
	} {
		if got, err := s.cursor(t.Context(), text); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q is taken for %s, %v", text, got, err)
		}
	}
}

// TestASequenceIDIsAPlace requests the changes after a sequenceId whose write has no position yet.
// The write must get a position. A sequenceId that is unknown or not in the feed must be refused.
func TestASequenceIDIsAPlace(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		version := func(id, moment, audit int64) {
			_, err := d.Exec(t.Context(), `INSERT INTO asset_version (id, type, state, moment, until_moment, audit_id, created_moment, created_at, created_by, changed_at, changed_by, linked)
				VALUES (?, 4, 64, ?, ?, ?, ?, 0, 20, 0, 20, 0)`, id, moment, db.Forever, audit, moment)
			if err != nil {
				t.Fatal(err)
			}
		}
		commit(t, d, 71, 1201, 1202)
		commit(t, d, 70, 0, 0) // the audit of moment 0, which every database has
		version(2001, 1201, 71)
		version(2002, 1202, 71)
		version(2003, 900, 70)
		for text, want := range map[string]Cursor{"1201": {1202, 1201}, "1202": {1202, 1202}} {
			if got, err := s.cursor(t.Context(), text); err != nil || got != want {
				t.Errorf("%s is at %s, %v; want %s", text, got, err, want)
			}
		}
		for _, text := range []string{"1200", "1203", "900"} {
			if got, err := s.cursor(t.Context(), text); fault.KindOf(err) != fault.Invalid {
				t.Errorf("%s is at %s, %v", text, got, err)
			}
		}
	})
}

// TestACursorOfAnotherDatabaseIsRefused sends a cursor that is after the last change.
func TestACursorOfAnotherDatabaseIsRefused(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		commit(t, d, 71, 1201, 1202)
		page := func(after string) (Page, error) {
			return s.Page(t.Context(), auth.System, Request{After: after})
		}
		end, err := page("")
		if want := (Cursor{Position: 1203}); err != nil || end.Next != want || end.More || end.Head != 1202 {
			t.Fatalf("now is %+v, %v; want %s", end, err, want)
		}
		for _, after := range []string{"1203.0", "1202.1202", "1202.0", "5.0"} {
			if p, err := page(after); err != nil || p.More || p.Next != end.Next {
				t.Errorf("after %s: %+v, %v", after, p, err)
			}
		}
		commit(t, d, 72, 1203, 1204) // this write has no position yet
		end, err = page(end.Next.String())
		if want := (Cursor{Position: 1205}); err != nil || end.Next != want || end.More || end.Head != 1204 {
			t.Errorf("behind a write without a position is %+v, %v; want %s", end, err, want)
		}
		for _, after := range []string{"1206.0", "9000.8000"} {
			if p, err := page(after); fault.KindOf(err) != fault.Invalid {
				t.Errorf("after %s: %+v, %v", after, p, err)
			}
		}
	})
}

// TestAnotherModelIsNotReadBy checks that a service returns an error if its model is not the
// current model.
func TestAnotherModelIsNotReadBy(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		var present int64
		if err := d.QueryRow(t.Context(), `SELECT value FROM sequence WHERE name = 'model'`).Scan(&present); err != nil {
			t.Fatal(err)
		}
		s := newService(d)
		for generation, want := range map[int64]error{present: nil, present + 1: asset.ErrModelChanged} {
			if s.generation = generation; generation == 0 {
				continue // 0: the service does not compare generations
			}
			if _, err := s.Page(t.Context(), auth.System, Request{After: "0"}); !errors.Is(err, want) {
				t.Errorf("by model %d of %d: %v", generation, present, err)
			}
		}
	})
}

// unreadable is a row whose query was canceled.
type unreadable struct{}

func (unreadable) Scan(...any) error { return context.Canceled }

// TestARowThatCannotBeRead reads a version after the client has left. The read must end with the error.
func TestARowThatCannotBeRead(t *testing.T) {
	if _, err := placeOf(unreadable{}, map[int64]*audit{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
