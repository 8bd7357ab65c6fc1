package webhook

import (
	"context"
	"database/sql"
	"log/slog"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/lease"
)

// The times of a Meter.
const (
	meterEvery   = 2 * time.Second  // interval between two measurements
	meterTimeout = 4 * time.Second  // time limit of one measurement
	meterKeeps   = 30 * time.Second // after this time without a new measurement, the metrics are omitted
)

// Meter measures the backlog of the fan-out, for metrics. It does not depend on workers. So the
// numbers are also right while a fan-out takes minutes, while Redis is down, and while no worker
// runs. It is safe for concurrent use.
type Meter struct {
	db  *db.DB
	log *slog.Logger

	mu      sync.Mutex
	last    measured
	at      time.Time // time of the measurement last; zero: there was no measurement yet
	failing bool      // true: the latest measurement failed
}

// measured is the backlog at one point in time.
type measured struct {
	audits int64         // number of writes that wait for their fan-out
	age    time.Duration // time since the oldest of these writes began; 0: no write waits
}

// NewMeter returns a meter without a measurement. If r is not nil, it registers the meter with r.
// The meter uses the connections of db.DB.Lookup.
func NewMeter(d *db.DB, log *slog.Logger, r Registerer) *Meter {
	m := &Meter{db: d.Lookup(), log: log}
	if r != nil {
		r.MustRegister(m)
	}
	return m
}

// Run measures every meterEvery until ctx ends.
func (m *Meter) Run(ctx context.Context) error {
	tick := time.NewTicker(meterEvery)
	defer tick.Stop()
	for {
		m.measure(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// measure makes one measurement. If several measurements in a row fail, it logs only the first
// failure.
func (m *Meter) measure(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, meterTimeout)
	defer cancel()
	found, err := measure(within, m.db)
	if ctx.Err() != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil && !m.failing {
		m.log.WarnContext(ctx, "the backlog is not measured", "err", err)
	}
	if m.failing = err != nil; !m.failing {
		m.last, m.at = found, time.Now()
	}
}

// measure reads the backlog in one statement, which uses the key audit_fan.
//
// In the key, unclaimed writes are in the order of their ids. The statement counts at most
// lease.MaxCounted+1 of them, and reads the first and the last id. If there are more than
// lease.MaxCounted unclaimed writes, the difference between these two ids is an estimate of their
// number.
//
// The statement counts all claimed writes, because there are only a few: writes that workers have
// claimed, and writes that failed a short time ago.
func measure(ctx context.Context, d *db.DB) (m measured, err error) {
	const open = " FROM audit WHERE fan_state = 0 AND fan_lease "
	const first, last = " ORDER BY fan_state, fan_lease, id LIMIT ", " ORDER BY fan_state DESC, fan_lease DESC, id DESC LIMIT "
	now := d.Dialect.NowMicros
	var unclaimed, claimed, span int64
	var age, claimedAge sql.NullInt64 // microseconds
	err = d.QueryRow(ctx, `SELECT (SELECT COUNT(*) FROM (SELECT id`+open+`= 0`+first+`?) n), `+now+` - (SELECT at`+open+`= 0`+first+`1),
		COALESCE((SELECT id`+open+`= 0`+last+`1) - (SELECT id`+open+`= 0`+first+`1) + 1, 0), c.n, `+now+` - c.oldest
		FROM (SELECT COUNT(*) AS n, MIN(at) AS oldest FROM (SELECT at`+open+`> 0`+first+`?) l) c`, lease.MaxCounted+1, lease.MaxCounted).
		Scan(&unclaimed, &age, &span, &claimed, &claimedAge)
	if unclaimed > lease.MaxCounted {
		unclaimed = max(unclaimed, span)
	}
	m.audits = unclaimed + claimed
	m.age = max(0, time.Duration(max(age.Int64, claimedAge.Int64))*time.Microsecond)
	return m, err
}
