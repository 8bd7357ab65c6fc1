package feed

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func newLog(d *db.DB) *Log { return NewLog(d, slog.New(slog.DiscardHandler)) }

// TestWhatIsCommittedLateComesBehind checks that a write that is committed late gets a position
// after all positions that were assigned before.
func TestWhatIsCommittedLateComesBehind(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		l := newLog(d)
		advance := func(want int64) {
			t.Helper()
			if head, err := l.Advance(t.Context()); err != nil || head != want || sequence(t, d) != want {
				t.Errorf("the last position is %d, %v, the sequence %d; want %d", head, err, sequence(t, d), want)
			}
		}
		advance(0)
		commit(t, d, 70, 0, 0) // the audit of moment 0, which every database has
		advance(0)
		commit(t, d, 71, 1251, 1260)
		commit(t, d, 73, 1266, 1271)
		advance(1271)
		commit(t, d, 72, 1261, 1265)
		advance(1272)
		commit(t, d, 75, 1281, 1290)
		commit(t, d, 74, 1272, 1272) // its moment is already the position of another write
		advance(1291)
		advance(1291)
		commit(t, d, 76, 1400, 1400)
		advance(1400)
		want := map[int64]int64{70: 0, 71: 1260, 73: 1271, 72: 1272, 74: 1273, 75: 1291, 76: 1400}
		if diff := cmp.Diff(want, positions(t, d)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestTheHistoryIsGivenItsPositionsInSlices checks that each slice of writes is committed
// separately. So committed slices keep their positions, and no write has to wait until all slices
// are finished.
func TestTheHistoryIsGivenItsPositionsInSlices(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		const n = 2*slice + 1
		columns := []string{"id", "request_id", "actor_id", "at", "first_moment", "last_moment", "generation", "fan_state"}
		err := d.Write(t.Context(), func(tx *db.Tx) error {
			return db.InsertN(t.Context(), tx, "audit", columns, n, func(i int) []any {
				return []any{i + 1, i, 20, 0, 5000 - i, 5000 - i, 0, 1} // the audit with the last id has the first moment
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		l := newLog(d)
		head, more, err := l.advance(t.Context())
		if err != nil || !more || head != 5000-n+slice || sequence(t, d) != head {
			t.Errorf("after a slice: %d, %v, %v, the sequence %d", head, more, err, sequence(t, d))
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := l.Advance(ended); err == nil {
			t.Error("positions are given for nobody")
		}
		given := 0
		for id, position := range positions(t, d) {
			if position == 0 {
				continue
			}
			if given++; position != 5001-id {
				t.Errorf("audit %d is at %d", id, position)
			}
		}
		if given != slice {
			t.Errorf("%d have positions, want %d", given, slice)
		}
		if head, err := l.Advance(t.Context()); err != nil || head != 5000 {
			t.Errorf("the last position is %d, %v", head, err)
		}
		for id, position := range positions(t, d) {
			if position != 5001-id {
				t.Errorf("audit %d is at %d", id, position)
			}
		}
	})
}

// TestSeveralLogsGiveEachWriteOnePosition runs several logs while writes are committed. A reader
// that always continues after the last write that it has read must get every write once.
func TestSeveralLogsGiveEachWriteOnePosition(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		const writers, logs, each = 4, 4, 40
		var writing, reading sync.WaitGroup
		var last atomic.Int64 // last moment of the writes so far
		over := make(chan struct{})
		for range writers {
			writing.Go(func() {
				for range each / 2 {
					early, late := last.Add(3), last.Add(3)
					commit(t, d, late, late-2, late)
					commit(t, d, early, early-2, early)
				}
			})
		}
		seen := make([][]int64, logs)
		for i := range seen {
			reading.Go(func() { seen[i] = readAll(t, d, over) })
		}
		writing.Wait()
		close(over)
		reading.Wait()
		want := positions(t, d)
		taken := map[int64]bool{}
		for id, position := range want {
			if position == 0 || taken[position] {
				t.Errorf("audit %d is at %d", id, position)
			}
			taken[position] = true
		}
		for i, ids := range seen {
			if slices.Sort(ids); len(ids) != writers*each || len(slices.Compact(ids)) != writers*each {
				t.Errorf("reader %d gets %d writes, want each of %d once", i, len(ids), writers*each)
			}
		}
	})
}

// readAll reads all writes with its own log. It reads again and again until the channel over is
// closed, and then once more.
func readAll(t *testing.T, d *db.DB, over <-chan struct{}) (ids []int64) {
	l := newLog(d)
	after := int64(0)
	for last := false; ; {
		head, err := l.Advance(context.Background())
		if err != nil {
			t.Error(err)
			return ids
		}
		err = db.Each(context.Background(), d, `SELECT id, feed FROM audit WHERE feed > ? AND feed <= ? ORDER BY feed`, []any{after, head}, func(row db.Scanner) error {
			var id int64
			err := row.Scan(&id, &after)
			ids = append(ids, id)
			return err
		})
		if err != nil {
			t.Error(err)
		}
		if last {
			return ids
		}
		select {
		case <-over:
			last = true
		default:
		}
	}
}
