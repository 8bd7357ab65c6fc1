package delivery

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/lease"
)

// store writes a group of results in one transaction: the counters of the subscriptions, the states
// of the deliveries, and receipts. It returns the backoffs that begin now, by subscription.
//
// The result of a lost claim only gets a receipt. If it is a 410, markGone also handles it. A
// result does not change the counters if the URL of the subscription has changed in the meantime,
// or if the subscription was enabled again.
func (s *Sender) store(ctx context.Context, all []*result) (backoffs map[string]time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, lease.Duration)
	defer cancel()
	began, at := s.now(), int64(0)
	var counted map[string]*counts
	err = s.db.Write(ctx, func(tx *db.Tx) error {
		now, err := s.Now(ctx, tx)
		if err != nil {
			return err
		}
		at = now
		locked, err := s.lockCounters(ctx, tx, all, began)
		if err != nil {
			return err
		}
		if err := s.markGone(ctx, tx, all, locked); err != nil {
			return err
		}
		held, err := s.stillClaimed(ctx, tx, all)
		if err != nil {
			return err
		}
		counted = countAll(held, locked)
		if backoffs, err = s.storeCounts(ctx, tx, counted, locked, began, now); err != nil {
			return err
		}
		if err := s.end(ctx, tx, held, now); err != nil {
			return err
		}
		return db.Insert(ctx, tx, "webhook_receipt", receiptColumns, receiptRows(all, now))
	})
	if err == nil {
		s.results.answered.stored(counted, began, at)
	}
	return backoffs, err
}

// stored contains the counters of a subscription. url and since identify the receiver to which the
// counters belong.
type stored struct {
	url                 string
	since               int64 // generation of subscriptions at which the subscription was enabled
	failures, exhausted int   // numbers of failed attempts and of failed deliveries in a row
}

// isOf reports whether the counters belong to the receiver r. If not, they belong to a later
// receiver of the same subscription.
func (c *stored) isOf(r *receiver) bool { return c.url == r.url && c.since == r.since }

// lockCounters locks and reads the counters that a group of results may change. If ordered
// deliveries have ended, it locks all subscriptions of the group. Then, for each subscription,
// claims and the ends of deliveries run one after the other.
func (s *Sender) lockCounters(ctx context.Context, tx *db.Tx, all []*result, began time.Time) (map[string]*stored, error) {
	ordered := slices.ContainsFunc(all, (*result).endsInOrder)
	var ids, healthy []string
	for id, c := range countAll(all, nil) {
		if ordered || !s.results.answered.waits(id, c, began) {
			ids = append(ids, id)
		} else {
			healthy = append(healthy, id)
		}
	}
	failing, err := s.failing(ctx, tx, healthy)
	if err != nil {
		return nil, err
	}
	ids = append(ids, failing...)
	slices.Sort(ids) // all transactions lock rows in this order
	locked := map[string]*stored{}
	for in, args := range db.InChunks(ids) {
		if ordered {
			if _, err := tx.Lock(ctx, "webhook_subscription", "id IN "+in+" ORDER BY id", args...); err != nil {
				return nil, err
			}
		}
		err := db.Each(ctx, tx, "SELECT id, url, since_generation, failures_in_row, exhausted_in_row FROM webhook_subscription WHERE id IN "+in+
			" ORDER BY id"+s.db.Dialect.ForUpdate, args, func(row db.Scanner) error {
			var id string
			var c stored
			err := row.Scan(&id, &c.url, &c.since, &c.failures, &c.exhausted)
			locked[id] = &c
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return locked, nil
}

// failing returns the subscriptions that have stored failures. Another sender may have stored these
// failures after this sender found the subscription healthy.
func (*Sender) failing(ctx context.Context, tx *db.Tx, ids []string) (all []string, err error) {
	for in, args := range db.InChunks(ids) {
		some, err := db.Column[string](ctx, tx, "SELECT id FROM webhook_subscription WHERE id IN "+in+" AND failures_in_row > 0", args...)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// endsInOrder reports whether the delivery belongs to an ordered subscription and has ended. Other
// deliveries of its asset may wait for this end.
func (r *result) endsInOrder() bool { return r.d.Asset != 0 && r.outcome != Retry }

// markGone marks the subscriptions whose receivers have answered 410, even if the claim of the
// delivery was lost. If an earlier receiver of the subscription has answered 410, this counts as an
// ordinary failure.
func (s *Sender) markGone(ctx context.Context, tx *db.Tx, all []*result, locked map[string]*stored) error {
	var gone []string
	for _, res := range all {
		if res.outcome != Gone {
			continue
		}
		switch current := locked[res.d.Subscription]; {
		case current == nil: // the subscription is deleted
		case current.isOf(res.receiver):
			gone = append(gone, res.d.Subscription)
		default:
			res.outcome, res.wait = classify(0, res.d.attempts+1, s.o.Schedule, 0, s.chance())
		}
	}
	for in, args := range db.InChunks(gone) {
		if _, err := tx.Exec(ctx, "UPDATE webhook_subscription SET gone = 1 WHERE id IN "+in+" AND enabled = 1", args...); err != nil {
			return err
		}
	}
	return nil
}

// stillClaimed locks the deliveries of a group of results, and returns the results whose
// claims were not lost.
func (s *Sender) stillClaimed(ctx context.Context, tx *db.Tx, all []*result) ([]*result, error) {
	ids := make([]string, len(all))
	for i, res := range all {
		ids[i] = res.d.ID
	}
	slices.Sort(ids)
	owners := map[string]string{}
	for in, args := range db.InChunks(ids) {
		err := db.Each(ctx, tx, "SELECT id, owner FROM webhook_delivery WHERE id IN "+in+" AND state = 0 AND owner IS NOT NULL ORDER BY id"+
			s.db.Dialect.ForUpdate, args, func(row db.Scanner) error {
			var id, owner string
			err := row.Scan(&id, &owner)
			owners[id] = owner
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	held := make([]*result, 0, len(all))
	for _, res := range all {
		if owners[res.d.ID] == res.d.owner {
			held = append(held, res)
		}
	}
	if lost := len(all) - len(held); lost > 0 {
		s.metrics.lost.Add(float64(lost))
	}
	return held, nil
}

// end writes the new states of deliveries whose claims were not lost. If other deliveries wait for
// the end of these deliveries, they become due.
func (s *Sender) end(ctx context.Context, tx *db.Tx, held []*result, now int64) error {
	var ended []string
	for _, res := range held {
		if res.endsInOrder() {
			ended = append(ended, res.d.ID)
		}
	}
	following, err := next(ctx, tx, ended)
	if err == nil {
		err = s.settle(ctx, tx, held, now)
	}
	if err == nil {
		err = releaseNext(ctx, tx, following, isGivenUp(held), now)
	}
	return err
}

// receiptRows returns the rows of receipts for a group of results. It returns only the newest
// maxReceipts of each subscription, because Prune would remove the others.
func receiptRows(all []*result, now int64) [][]any {
	var rows [][]any
	kept := map[string]int{}
	for _, res := range slices.Backward(all) {
		if kept[res.d.Subscription]++; kept[res.d.Subscription] > maxReceipts {
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
		row[0] = NewID() // the ids sort in the order of the results
	}
	return rows
}

var receiptColumns = []string{
	"id", "subscription_id", "delivery_id", "url", "has_authorization", "response", "headers", "status", "at",
	"retry_count", "was_received", "given_up",
}

// counts summarizes the results of one subscription in a group.
type counts struct {
	failing     bool // true: the subscription had failures when a request began
	answered    bool // true: at least one request was answered
	retries     int
	delivered   bool          // true: an attempt succeeded, so the stored counts of failures start again at 0
	failures    int           // failed attempts in a row at the end of the group
	exhausted   int           // failed deliveries in a row at the end of the group
	asksForLess bool          // true: one of these failures asks for less, see the function asksForLess
	retryAfter  time.Duration // the longest pause that these failures ask for; 0: none
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

// healthy reports whether the group contains no retries, and its last result is a success.
func (c *counts) healthy() bool {
	return *c == counts{failing: c.failing, answered: true, delivered: true}
}

// countAll returns the counts of a group by subscription. If the map known contains the counters of
// a subscription, results of earlier receivers of the subscription are not counted.
func countAll(all []*result, known map[string]*stored) map[string]*counts {
	counted := map[string]*counts{}
	for _, res := range all {
		if current := known[res.d.Subscription]; current != nil && !current.isOf(res.receiver) {
			continue
		}
		c := counted[res.d.Subscription]
		if c == nil {
			c = &counts{}
			counted[res.d.Subscription] = c
		}
		c.add(res)
	}
	return counted
}

// storeCounts updates the counters and circuit breakers of the subscriptions, and returns the
// backoffs that begin. It skips a healthy subscription if its counters were written a short time
// ago (see answered.waits).
func (s *Sender) storeCounts(ctx context.Context, tx *db.Tx, all map[string]*counts, locked map[string]*stored, began time.Time, now int64) (map[string]time.Duration, error) {
	backoffs := map[string]time.Duration{}
	var healthy []string
	for _, id := range slices.Sorted(maps.Keys(all)) {
		c := all[id]
		switch {
		case locked[id] == nil: // the subscription is deleted
			continue
		case s.results.answered.waits(id, c, began) && locked[id].failures == 0: // its counters are written later
			continue
		case c.healthy():
			healthy = append(healthy, id)
			continue
		}
		wait, err := s.storeFailures(ctx, tx, id, c, *locked[id], now)
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

// storeFailures updates the counters of a subscription that had retries or failures. It opens the
// circuit breaker after too many failures, or if an answer asks for less (see asksForLess). It
// returns the backoff, or 0 if the breaker stays closed.
func (s *Sender) storeFailures(ctx context.Context, tx *db.Tx, id string, c *counts, before stored, now int64) (time.Duration, error) {
	failures, exhausted := before.failures+c.failures, before.exhausted+c.exhausted
	if c.delivered {
		failures, exhausted = c.failures, c.exhausted
	}
	state, until := breakerClosed, int64(0)
	wait := backoff(failures, s.o.Schedule, c.asksForLess, c.retryAfter, s.chance())
	if wait > 0 {
		state, until = breakerOpen, now+wait.Microseconds()
	}
	set, args := "", []any{c.retries, failures, exhausted, state, until}
	if c.answered {
		set, args = ", last_response_at = ?", append(args, now)
	}
	_, err := tx.Exec(ctx, `UPDATE webhook_subscription SET retry_count = retry_count + ?, failures_in_row = ?,
		exhausted_in_row = ?, breaker_state = ?, breaker_until = ?`+set+" WHERE id = ?", append(args, id)...)
	return wait, err
}

// settle writes the new states of deliveries. The caller must have locked their rows.
func (s *Sender) settle(ctx context.Context, tx *db.Tx, all []*result, now int64) error {
	delivered := map[int][]string{} // ids of deliveries by the status of the answer
	for _, res := range all {
		if res.outcome == Delivered {
			delivered[res.status] = append(delivered[res.status], res.d.ID)
			continue
		}
		state, due, settled, line := waiting, now+res.wait.Microseconds(), any(nil), "asset_id"
		if res.outcome != Retry {
			state, due, settled, line = exhausted, now+s.retention.Microseconds(), now, "NULL"
		}
		err := update(ctx, tx, []string{res.d.ID}, `state = ?, attempts = attempts + 1, claims = 0, due = ?, failed_at = ?, settled_at = ?,
			asset_id = `+line+`, owner = NULL, lease = 0, last_status = ?, last_error = ?`, state, due, now, settled, res.status, Truncate(lastError(res)))
		if err != nil {
			return err
		}
	}
	for _, status := range slices.Sorted(maps.Keys(delivered)) {
		err := update(ctx, tx, delivered[status], `state = 1, attempts = attempts + 1, claims = 0, due = ?, settled_at = ?,
			asset_id = NULL, owner = NULL, lease = 0, last_status = ?, last_error = NULL`, now+s.retention.Microseconds(), now, status)
		if err != nil {
			return err
		}
	}
	return nil
}

// update sets columns of deliveries. The parameter set is the SQL text after SET, and args are the
// arguments of this text.
func update(ctx context.Context, tx *db.Tx, ids []string, set string, args ...any) error {
	for in, list := range db.InChunks(ids) {
		if _, err := tx.Exec(ctx, "UPDATE webhook_delivery SET "+set+" WHERE id IN "+in, append(slices.Clone(args), list...)...); err != nil {
			return err
		}
	}
	return nil
}

func lastError(res *result) string {
	if res.err != nil {
		return res.failure
	}
	return fmt.Sprintf("the receiver answered %d", res.status)
}
