package webhook

import (
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/lease"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestTheBacklogIsMeasured(t *testing.T) {
	const second = int64(1_000_000)
	type write struct {
		id, at, lease int64
		state         int
	}
	many := make([]write, lease.MaxCounted+3)
	for i := range many {
		many[i] = write{id: int64(3 * (i + 1)), at: -50 * second}
	}
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		for _, c := range []struct {
			name   string
			writes []write
			audits int64
			age    time.Duration // the measured age must be between age and twice age
		}{
			{"nothing", nil, 0, 0},
			{"all is done or set aside", []write{{id: 1, at: -50 * second, state: 1}, {id: 2, at: -50 * second, state: 2}}, 0, 0},
			{"never claimed", []write{{id: 1, at: -900 * second, state: 1}, {id: 7, at: -50 * second}, {id: 9, at: -40 * second}}, 2, 50 * time.Second},
			{"claimed", []write{{id: 7, at: -100 * second, lease: 1 << 60}, {id: 9, at: -40 * second}}, 2, 100 * time.Second},
			{"a claim ended", []write{{id: 7, at: -100 * second, lease: 1}}, 1, 100 * time.Second},
			{"of the future, by another clock", []write{{id: 7, at: 100 * second}}, 1, 0},
			{"more than are counted", many, 3*(lease.MaxCounted+2) + 1, 50 * time.Second},
		} {
			rows := make([][]any, len(c.writes))
			var now int64
			if err := d.QueryRow(t.Context(), "SELECT "+d.Dialect.NowMicros).Scan(&now); err != nil {
				t.Fatal(err)
			}
			for i, w := range c.writes {
				rows[i] = []any{w.id, w.id, 0, now + w.at, 1, 1, 0, w.state, w.lease}
			}
			err := d.Write(t.Context(), func(tx *db.Tx) error {
				if _, err := tx.Exec(t.Context(), "DELETE FROM audit"); err != nil {
					return err
				}
				return db.Insert(t.Context(), tx, "audit", []string{"id", "request_id", "actor_id", "at", "first_moment", "last_moment", "generation", "fan_state", "fan_lease"}, rows)
			})
			if err != nil {
				t.Fatal(err)
			}
			got, err := measure(t.Context(), d)
			if err != nil || got.audits != c.audits || got.age < c.age || got.age > 2*c.age {
				t.Errorf("%s: %d writes, the oldest %s ago, err %v", c.name, got.audits, got.age, err)
			}
		}
	})
}

// TestAnOldMeasureIsNotTold checks that Collect sends no metrics before the first measurement, and
// no metrics if the last measurement is old.
func TestAnOldMeasureIsNotTold(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		m := NewMeter(d, slog.New(slog.DiscardHandler), prometheus.NewPedanticRegistry())
		for _, c := range []struct {
			name string
			does func()
			told int
		}{
			{"before the first measure", func() {}, 0},
			{"measured", func() { m.measure(t.Context()) }, 2},
			{"measured long ago", func() { m.at = m.at.Add(-meterKeeps) }, 0},
		} {
			if c.does(); testutil.CollectAndCount(m) != c.told {
				t.Errorf("%s: %d metrics", c.name, testutil.CollectAndCount(m))
			}
		}
	})
}
