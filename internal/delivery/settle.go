package delivery

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/lease"
)

// store writes a group of results in one transaction: counters of the
// subscriptions, states of the deliveries, receipts. It returns the backoffs
// that begin.
func (s *Sender) store(ctx context.Context, all []*result) (backoffs map[string]time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, lease.Duration)
	defer cancel()
	counted, began, at := countAll(all), time.Now(), int64(0)
	err = s.db.Write(ctx, func(tx *db.Tx) error {
		now, err := s.Now(ctx, tx)
		if err != nil {
			return err
		}
		at = now
		following, err := s.lockOrder(ctx, tx, all)
		if err != nil {
			return err
		}
		if backoffs, err = s.storeCounts(ctx, tx, counted, began, now); err != nil {
			return err
		}
		if err := s.settle(ctx, tx, all, now); err != nil {
			return err
		}
		if err := releaseNext(ctx, tx, following, isGivenUp(all), now); err != nil {
			return err
		}
		return db.Insert(ctx, tx, "webhook_receipt", receiptColumns, receiptRows(all, now))
	})
	if err == nil {
		s.results.answered.stored(counted, began, at)
	}
	return backoffs, err
}

// receiptRows returns the receipts of a group that anybody will see: the newest of
// each subscription. Prune would remove the others.
func receiptRows(all []*result, now int64) [][]any {
	var rows [][]any
	kept := map[string]int{}
	for _, res := range slices.Backward(all) {
		if kept[res.d.Subscription]++; kept[res.d.Subscription] > MaxReceipts {
			continue
		}
		rows = append(rows, []any{
			nil, res.d.Subscription, res.d.ID, redactedURL(res.receiver.url), res.authorized, res.answer,
			sql.NullString{String: res.headers, Valid: res.headers != ""},
			res.status, now, res.d.attempts, res.status != 0,
			sql.NullString{String: res.d.after, Valid: res.d.after != ""},
		})
	}
	slices.Reverse(rows)
	for _, row := range rows {
		row[0] = NewID() // in the order of the results
	}
	return rows
}

var receiptColumns = []string{
	"id", "subscription_id", "delivery_id", "url", "has_authorization", "response", "headers", "status", "at",
	"retry_count", "was_received", "given_up",
}

// counts is what a group says about one subscription.
type counts struct {
	failing     bool // its stored counters are those of failures
	answered    bool
	retries     int
	delivered   bool // one succeeded, so that the stored counts of failures start again at 0
	failures    int  // in a row at the end of the group
	exhausted   int  // in a row at the end of the group
	asksForLess bool
	retryAfter  time.Duration // the longest that was asked for
}

func (c *counts) add(res *result) {
	c.failing = c.failing || res.receiver.failures > 0
	c.answered = c.answered || res.status != 0
	if res.d.attempts > 0 {
		c.retries++
	}
	if res.outcome == Delivered {
		*c = counts{failing: c.failing, answered: c.answered, retries: c.retries, delivered: true}
		return
	}
	c.failures++
	c.asksForLess, c.retryAfter = c.asksForLess || res.asksForLess, max(c.retryAfter, res.retryAfter)
	if res.outcome == Exhausted {
		c.exhausted++
	}
}

// healthy reports whether all first attempts succeeded.
func (c *counts) healthy() bool {
	return *c == counts{failing: c.failing, answered: true, delivered: true}
}

// countAll returns what a group says, by subscription.
func countAll(all []*result) map[string]*counts {
	counted := map[string]*counts{}
	for _, res := range all {
		c := counted[res.d.Subscription]
		if c == nil {
			c = &counts{}
			counted[res.d.Subscription] = c
		}
		c.add(res)
	}
	return counted
}

// storeCounts updates the counters of the subscriptions and the states of their
// circuit breakers, and returns the backoffs that begin. Those of healthy ones
// that were written lately wait.
func (s *Sender) storeCounts(ctx context.Context, tx *db.Tx, all map[string]*counts, began time.Time, now int64) (map[string]time.Duration, error) {
	backoffs := map[string]time.Duration{}
	var healthy []string
	for _, id := range slices.Sorted(maps.Keys(all)) {
		c := all[id]
		switch {
		case s.results.answered.waits(id, c, began):
			continue
		case c.healthy():
			healthy = append(healthy, id)
			continue
		}
		wait, err := s.storeFailures(ctx, tx, id, c, now)
		if err != nil {
			return nil, err
		}
		if wait > 0 {
			backoffs[id] = wait
		}
	}
	if len(healthy) == 0 {
		return backoffs, nil
	}
	in, args := db.InArgs(healthy)
	_, err := tx.Exec(ctx, `UPDATE webhook_subscription SET last_response_at = ?, failures_in_row = 0, exhausted_in_row = 0,
		breaker_state = 0, breaker_until = 0 WHERE id IN `+in, append([]any{now}, args...)...)
	return backoffs, err
}

// storeFailures updates the counters of a subscription with retries or
// failures. It opens the circuit breaker when the receiver failed too often or
// asked for less, and returns the backoff; 0 when the breaker is closed.
func (s *Sender) storeFailures(ctx context.Context, tx *db.Tx, id string, c *counts, now int64) (time.Duration, error) {
	failures, exhausted := 0, 0
	err := tx.QueryRow(ctx, "SELECT failures_in_row, exhausted_in_row FROM webhook_subscription WHERE id = ?"+
		s.db.Dialect.ForUpdate, id).Scan(&failures, &exhausted)
	if fault.KindOf(err) == fault.NotFound { // deleted
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if c.delivered {
		failures, exhausted = 0, 0
	}
	failures, exhausted = failures+c.failures, exhausted+c.exhausted
	state, until := breakerClosed, int64(0)
	wait := backoff(failures, s.o.Schedule, c.asksForLess, c.retryAfter, rand.Float64())
	if wait > 0 {
		state, until = breakerOpen, now+wait.Microseconds()
	}
	set, args := "", []any{c.retries, failures, exhausted, state, until}
	if c.answered {
		set, args = ", last_response_at = ?", append(args, now)
	}
	_, err = tx.Exec(ctx, `UPDATE webhook_subscription SET retry_count = retry_count + ?, failures_in_row = ?,
		exhausted_in_row = ?, breaker_state = ?, breaker_until = ?`+set+" WHERE id = ?", append(args, id)...)
	return wait, err
}

// settle writes the new states of the deliveries that this sender still owns.
func (s *Sender) settle(ctx context.Context, tx *db.Tx, all []*result, now int64) error {
	delivered := map[int][]string{} // by the status of the answer
	for _, res := range all {
		if res.outcome == Delivered {
			delivered[res.status] = append(delivered[res.status], res.d.ID)
			continue
		}
		state, due, settled, line := waiting, now+res.wait.Microseconds(), any(nil), "asset_id"
		if res.outcome != Retry {
			state, due, settled, line = exhausted, now+s.retention.Microseconds(), now, "NULL"
		}
		err := s.update(ctx, tx, []string{res.d.ID}, `state = ?, attempts = attempts + 1, claims = 0, due = ?, failed_at = ?, settled_at = ?,
			asset_id = `+line+`, owner = NULL, lease = 0, last_status = ?, last_error = ?`, state, due, now, settled, res.status, Truncate(lastError(res)))
		if err != nil {
			return err
		}
	}
	for _, status := range slices.Sorted(maps.Keys(delivered)) {
		err := s.update(ctx, tx, delivered[status], `state = 1, attempts = attempts + 1, claims = 0, due = ?, settled_at = ?,
			asset_id = NULL, owner = NULL, lease = 0, last_status = ?, last_error = NULL`, now+s.retention.Microseconds(), now, status)
		if err != nil {
			return err
		}
	}
	return nil
}

// update changes deliveries that this sender still owns.
func (s *Sender) update(ctx context.Context, tx *db.Tx, ids []string, set string, args ...any) error {
	err := s.leases.Update(ctx, tx, s.owner, ids, set, args...)
	if errors.Is(err, lease.ErrLost) {
		s.metrics.lost.Inc()
		return nil
	}
	return err
}

func lastError(res *result) string {
	if res.err != nil {
		return res.failure
	}
	return fmt.Sprintf("the receiver answered %d", res.status)
}
