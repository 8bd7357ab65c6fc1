package delivery

import (
	"context"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/lease"
)

// clockSlack is the maximum allowed difference between the clocks of the nodes of a database.
const clockSlack = 5 * time.Second

// clock detects that the clock of the database was set back. The zero value is ready for use.
type clock struct {
	mu   sync.Mutex
	last int64 // UTC microseconds
}

// isBack reports whether the clock of the database was set back since the last call. The parameter
// now is the current time of that clock in UTC microseconds. In the first call both results are
// true, because the clock may have been set back before.
func (c *clock) isBack(now int64) (isBack, isFirst bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	isFirst = c.last == 0
	isBack = isFirst || now < c.last
	c.last = now
	return isBack, isFirst
}

// correctTimes corrects times that were written while the clock of the database was ahead. It does
// this when the clock was set back, and once when the sender starts:
//
//   - Deliveries become due now if they have no attempts, or if their last failure is in the
//     future.
//   - Leases become shorter if they end later than a lease that begins now. Their senders may have
//     stopped.
//   - Circuit breakers end their backoff. At the start of the sender, only a backoff that is
//     longer than the maximum ends.
//
// It returns the time of the database in UTC microseconds.
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
	open, err := db.Column[string](ctx, s.db, "SELECT id FROM webhook_subscription WHERE breaker_until > ?", now+longest)
	if err != nil {
		return 0, err
	}
	for in, args := range db.InChunks(open) {
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
		s.log.Warn("due times corrected: the clock of the database was ahead", "count", n)
	}
	return now, err
}

// correctLeases shortens leases that end too late. They then end at the same time as a lease that
// begins now, so that a sender that is still running can renew them.
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

// correctDue makes deliveries due now if they have no attempts, or if their last failure is in the
// future. It returns the number of these deliveries.
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
