package delivery

import (
	"context"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/lease"
)

// clockSlack is how far the clocks of the nodes of one database may differ.
const clockSlack = 5 * time.Second

// clock notices that the clock of the database was set back. The zero value is used before
// it was read.
type clock struct {
	mu   sync.Mutex
	last int64 // UTC microseconds
}

// isBack reports whether the clock was set back since the last call, or may have been
// before the first one. isFirst tells which.
func (c *clock) isBack(now int64) (isBack, isFirst bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	isFirst = c.last == 0
	isBack = isFirst || now < c.last
	c.last = now
	return isBack, isFirst
}

// correctTimes makes due what is due later only because the clock of the database was ahead:
// deliveries that failed at a time that has not come, or were never sent; it shortens
// leases that end later than any lease does, whose senders may have ended; and it ends the
// backoff of circuit breakers, at the start of a sender that of those whose end is further
// away than any backoff is long. It looks for them when the clock was set back, and once at
// the start. It returns the time of the database.
func (s *Sender) correctTimes(ctx context.Context) (now int64, err error) {
	if now, err = s.Now(ctx, s.db); err != nil {
		return 0, err
	}
	isBack, isFirst := s.clock.isBack(now)
	if !isBack {
		return now, nil
	}
	longest := int64(0)
	if isFirst {
		longest = time.Duration((1 + jitter) * float64(max(maxRetryAfter, maxBackoff))).Microseconds()
	}
	resting, err := db.Column[string](ctx, s.db, "SELECT id FROM webhook_subscription WHERE breaker_until > ?", now+longest)
	if err != nil {
		return 0, err
	}
	for in, args := range db.InChunks(resting) {
		_, err := s.db.Exec(ctx, "UPDATE webhook_subscription SET breaker_until = ? WHERE id IN "+in+" AND breaker_until > ?",
			append(append([]any{now}, args...), now+longest)...)
		if err != nil {
			return 0, err
		}
	}
	if err := s.correctLeases(ctx, now); err != nil {
		return 0, err
	}
	n, err := s.correctDue(ctx, now)
	if n > 0 {
		s.log.Warn("deliveries were due by a clock that was ahead", "count", n)
	}
	return now, err
}

// correctLeases gives leases that end too late the end of one that begins now, so that a
// sender that is there goes on.
func (s *Sender) correctLeases(ctx context.Context, now int64) error {
	end := now + lease.Duration.Microseconds()
	latest := end + clockSlack.Microseconds()
	for {
		ids, err := db.Column[string](ctx, s.db, "SELECT id FROM webhook_delivery WHERE state = 0 AND lease > ? LIMIT ?", latest, db.MaxIn)
		if err != nil || len(ids) == 0 {
			return err
		}
		in, args := db.InArgs(ids)
		_, err = s.db.Exec(ctx, "UPDATE webhook_delivery SET lease = ? WHERE id IN "+in+" AND state = 0 AND lease > ?", append(append([]any{end}, args...), latest)...)
		if err != nil {
			return err
		}
	}
}

// correctDue makes deliveries due now, and returns their number.
func (s *Sender) correctDue(ctx context.Context, now int64) (n int, err error) {
	ahead := now + clockSlack.Microseconds()
	for {
		ids, err := db.Column[string](ctx, s.db, `SELECT id FROM webhook_delivery WHERE state = 0 AND due > ? AND due < ?
			AND (attempts = 0 OR failed_at > ?) ORDER BY state, due LIMIT ?`, ahead, db.Forever, ahead, db.MaxIn)
		if err != nil || len(ids) == 0 {
			return n, err
		}
		in, args := db.InArgs(ids)
		_, err = s.db.Exec(ctx, "UPDATE webhook_delivery SET due = ?, failed_at = ? WHERE id IN "+in+" AND state = 0 AND due > ? AND due < ?",
			append(append([]any{now, now}, args...), ahead, db.Forever)...)
		if n += len(ids); err != nil {
			return n, err
		}
	}
}
