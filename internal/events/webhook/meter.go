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

// The clock of a Meter.
const (
	meterEvery   = 2 * time.Second
	meterTimeout = 4 * time.Second
	meterKeeps   = 30 * time.Second // a measure; without a newer one the metrics are absent
)

// Meter measures the backlog of fan-out for the metrics, on a clock of its own: the
// figures are right while a fan-out takes minutes, while Redis is away and while no
// worker runs. It is safe for concurrent use.
type Meter struct {
	db  *db.DB
	log *slog.Logger

	mu      sync.Mutex
	last    measured
	at      time.Time // of last; zero: there is none
	failing bool      // the last try failed
}

// measured is the backlog as of one instant.
type measured struct {
	audits int64
	age    time.Duration // of the oldest; 0: there is none
}

// NewMeter returns a meter that has measured nothing, registered with r, which may
// be nil. It reads on the connections of lookups.
func NewMeter(d *db.DB, log *slog.Logger, r Registerer) *Meter {
	m := &Meter{db: d.Lookup(), log: log}
	if r != nil {
		r.MustRegister(m)
	}
	return m
}

// Run measures until ctx ends.
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

// measure measures once. Failures are logged when they begin.
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

// measure reads the backlog in one statement along the key audit_fan. Of writes that
// nobody has claimed, which lie there by their ids, it reads the ends and counts at
// most lease.MaxCounted; with more, the difference of the ids at the ends estimates
// their number. Claimed ones are as many as the workers have at a time, and those that
// failed just now.
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
