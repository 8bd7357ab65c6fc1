package delivery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/lease"
)

// A group of results is written when it is this old or this large.
const (
	groupWait = 5 * time.Millisecond
	groupSize = 100
)

// recorder writes results in groups: attempts, receipts, counts.
type recorder struct {
	s       *Sender
	results chan *result
	flushes chan chan struct{}
	hurried chan struct{} // closed at shutdown: a group is tried once more and then left
}

func newRecorder(s *Sender) *recorder {
	return &recorder{
		s: s, results: make(chan *result, 10*groupSize),
		flushes: make(chan chan struct{}), hurried: make(chan struct{}),
	}
}

// add hands a result on; it blocks while the database is too far behind.
func (r *recorder) add(res *result) { r.results <- res }

// hurry ends patience with a database that is away.
func (r *recorder) hurry() { close(r.hurried) }

// flush returns when what was added before is written or given up.
func (r *recorder) flush() {
	done := make(chan struct{})
	r.flushes <- done
	<-done
}

// run writes until ctx ends.
func (r *recorder) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case first := <-r.results:
			r.write(ctx, r.group(first))
		case done := <-r.flushes:
			for len(r.results) > 0 {
				r.write(ctx, r.group(<-r.results))
			}
			close(done)
		}
	}
}

// group collects results until the group is full or old.
func (r *recorder) group(first *result) []*result {
	all := []*result{first}
	timer := time.NewTimer(groupWait)
	defer timer.Stop()
	for len(all) < groupSize {
		select {
		case res := <-r.results:
			all = append(all, res)
		case <-timer.C:
			return all
		}
	}
	return all
}

// write stores a group, again and again while the database is away: its claims
// end meanwhile, but nobody else can take them either.
func (r *recorder) write(ctx context.Context, all []*result) {
	pause := 50 * time.Millisecond
	var rests map[string]time.Duration
	for {
		var err error
		if rests, err = r.store(ctx, all); err == nil {
			break
		}
		r.s.metrics.recordErrors.Inc()
		r.s.log.Warn("results not written", "count", len(all), "err", err)
		if !r.wait(ctx, pause) {
			break
		}
		pause = min(2*pause, time.Second)
	}
	for id, d := range rests {
		r.s.lanes.giveBack(id)
		r.wakeAt(id, d)
	}
	ids := make([]string, len(all))
	for i, res := range all {
		ids[i] = res.d.ID
	}
	r.s.lanes.settled(ids...)
	r.after(ctx, all)
}

func (r *recorder) wait(ctx context.Context, pause time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-r.hurried:
		return false
	case <-time.After(pause):
		return true
	}
}

// store writes a group and returns the receivers that rest from now on.
func (r *recorder) store(ctx context.Context, all []*result) (rests map[string]time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, lease.Duration)
	defer cancel()
	err = r.s.db.Write(ctx, func(tx *db.Tx) error {
		now, err := r.s.Now(ctx, tx)
		if err != nil {
			return err
		}
		if rests, err = r.count(ctx, tx, all, now); err != nil {
			return err
		}
		if err := r.settle(ctx, tx, all, now); err != nil {
			return err
		}
		rows := make([][]any, len(all))
		for i, res := range all {
			rows[i] = []any{
				NewID(), res.d.Subscription, res.d.ID, shownURL(res.receiver.url), bit(res.authorized), res.answer,
				orNull(res.headers), res.status, now, res.d.attempts, bit(res.status != 0),
			}
		}
		return db.Insert(ctx, tx, "webhook_receipt", receiptColumns, rows)
	})
	return rests, err
}

// tally is what a group says about one subscription.
type tally struct {
	answered         bool
	retries          int
	failures         int // in a row at the end of the group
	failedThroughout bool
	exhausted        int
	exhaustedOnly    bool // no delivery got through
	slowed           bool
	asked            time.Duration // the longest pause it asked for
	rest             time.Duration // what follows from all that
}

func (t *tally) add(res *result) {
	t.answered = t.answered || res.status != 0
	if res.d.attempts > 0 {
		t.retries++
	}
	if res.outcome == Delivered {
		*t = tally{answered: t.answered, retries: t.retries}
		return
	}
	t.failures++
	t.slowed, t.asked = t.slowed || res.slowed, max(t.asked, res.asked)
	if res.outcome == Exhausted {
		t.exhausted++
	}
}

// count keeps the subscriptions' running counts. Failures in a row go on from
// those stored only when nothing in the group got through. The answer holds the
// receivers that rest now.
func (r *recorder) count(ctx context.Context, tx *db.Tx, all []*result, now int64) (map[string]time.Duration, error) {
	tallies := map[string]*tally{}
	for _, res := range all {
		t := tallies[res.d.Subscription]
		if t == nil {
			t = &tally{failedThroughout: true, exhaustedOnly: true}
			tallies[res.d.Subscription] = t
		}
		t.add(res)
	}
	var smooth []string
	for _, id := range slices.Sorted(maps.Keys(tallies)) {
		if t := tallies[id]; *t == (tally{answered: true}) {
			smooth = append(smooth, id)
		}
	}
	if len(smooth) > 0 {
		in, args := db.InArgsOf(smooth)
		_, err := tx.Exec(ctx, `UPDATE webhook_subscription SET last_response_at = ?, failures_in_row = 0, exhausted_in_row = 0,
			breaker_state = 0, breaker_until = 0 WHERE id IN `+in, append([]any{now}, args...)...)
		if err != nil {
			return nil, err
		}
	}
	rests := map[string]time.Duration{}
	for _, id := range slices.Sorted(maps.Keys(tallies)) {
		if t := tallies[id]; *t != (tally{answered: true}) {
			if err := r.countFailures(ctx, tx, id, t, now); err != nil {
				return nil, err
			}
			if t.rest > 0 {
				rests[id] = t.rest
			}
		}
	}
	return rests, nil
}

// countFailures counts what is not smooth, and lets the receiver rest when it
// fails too often or asks for it.
func (r *recorder) countFailures(ctx context.Context, tx *db.Tx, id string, t *tally, now int64) error {
	failures, exhausted := 0, 0
	err := tx.QueryRow(ctx, "SELECT failures_in_row, exhausted_in_row FROM webhook_subscription WHERE id = ?"+
		r.s.db.Dialect.ForUpdate, id).Scan(&failures, &exhausted)
	if fault.KindOf(err) == fault.NotFound { // deleted
		return nil
	}
	if err != nil {
		return err
	}
	if !t.failedThroughout {
		failures = 0
	}
	if !t.exhaustedOnly {
		exhausted = 0
	}
	failures, exhausted = failures+t.failures, exhausted+t.exhausted
	state, until := breakerClosed, int64(0)
	t.rest = rest(failures, r.s.o.Schedule, t.slowed, t.asked, rand.Float64())
	if t.rest > 0 {
		state, until = breakerOpen, now+t.rest.Microseconds()
	}
	set, args := "", []any{t.retries, failures, exhausted, state, until}
	if t.answered {
		set, args = ", last_response_at = ?", append(args, now)
	}
	_, err = tx.Exec(ctx, `UPDATE webhook_subscription SET retry_count = retry_count + ?, failures_in_row = ?,
		exhausted_in_row = ?, breaker_state = ?, breaker_until = ?`+set+" WHERE id = ?", append(args, id)...)
	return err
}

// settle stores what became of the deliveries, as far as they are still this
// worker's.
func (r *recorder) settle(ctx context.Context, tx *db.Tx, all []*result, now int64) error {
	delivered := map[int][]string{} // by what the receiver answered
	for _, res := range all {
		if res.outcome == Delivered {
			delivered[res.status] = append(delivered[res.status], res.d.ID)
		}
	}
	for _, status := range slices.Sorted(maps.Keys(delivered)) {
		err := r.update(ctx, tx, delivered[status], `state = 1, attempts = attempts + 1, claims = 0, due = ?, settled_at = ?,
			owner = NULL, lease = 0, last_status = ?, last_error = NULL`, now+r.s.keep.Microseconds(), now, status)
		if err != nil {
			return err
		}
	}
	for _, res := range all {
		if res.outcome != Delivered {
			if err := r.settleFailed(ctx, tx, res, now); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *recorder) settleFailed(ctx context.Context, tx *db.Tx, res *result, now int64) error {
	state, due, settled := waiting, now+res.wait.Microseconds(), any(nil)
	if res.outcome != Again {
		state, due, settled = exhausted, now+r.s.keep.Microseconds(), now
	}
	return r.update(ctx, tx, []string{res.d.ID}, `state = ?, attempts = attempts + 1, claims = 0, due = ?, settled_at = ?,
		owner = NULL, lease = 0, last_status = ?, last_error = ?`, state, due, settled, res.status, brief(why(res)))
}

// update changes deliveries that this sender still owns.
func (r *recorder) update(ctx context.Context, tx *db.Tx, ids []string, set string, args ...any) error {
	err := r.s.leases.Update(ctx, tx, r.s.owner, ids, set, args...)
	if errors.Is(err, lease.ErrLost) {
		r.s.metrics.lost.Inc()
		return nil
	}
	return err
}

func why(res *result) string {
	if res.err != nil {
		return res.failure
	}
	return fmt.Sprintf("the receiver answered %d", res.status)
}

// after does what follows from results once they are written.
func (r *recorder) after(ctx context.Context, all []*result) {
	now := time.Now()
	for _, res := range all {
		switch res.outcome {
		case Delivered:
			r.s.metrics.events.Add(float64(res.d.Events))
			if res.d.attempts == 0 {
				r.s.metrics.latency.Observe(now.Sub(micros(res.d.Committed)).Seconds())
			}
			r.s.metrics.deliveries.WithLabelValues("delivered").Inc()
			continue
		case Again:
			r.wakeAt(res.d.Subscription, res.wait)
		case Exhausted:
			r.s.metrics.deliveries.WithLabelValues("exhausted").Inc()
			r.disable(ctx, res.d.Subscription, false)
		case Gone:
			r.s.metrics.deliveries.WithLabelValues("gone").Inc()
			r.disable(ctx, res.d.Subscription, true)
		}
		r.s.log.Info("delivery attempt failed", "delivery", res.d.ID, "subscription", res.d.Subscription,
			"url", shownURL(res.receiver.url), "attempt", res.d.attempts+1, "status", res.status,
			"outcome", res.outcome.String(), "duration_ms", res.took.Milliseconds(), "err", res.failure)
	}
}

// ownTimer is the longest wait that this process itself remembers.
const ownTimer = time.Minute

// wakeAt sees to it that somebody looks when something is due: this sender when
// that is soon, and whoever the queue finds.
func (r *recorder) wakeAt(id string, wait time.Duration) {
	if wait <= ownTimer {
		time.AfterFunc(wait, func() { r.s.lanes.wake(id) })
	}
	r.s.o.WakeAt(id, time.Now().Add(wait))
}

func (r *recorder) disable(ctx context.Context, id string, gone bool) {
	if err := r.s.subscriptions.Failed(ctx, id, gone); err != nil { // Prune finds it again
		r.s.log.Warn("subscription not disabled", "subscription", id, "err", err)
	}
}

var receiptColumns = []string{
	"id", "subscription_id", "delivery_id", "url", "has_authorization", "response", "headers", "status", "at",
	"retry_count", "was_received",
}

// brief cuts a text for a column that people read.
func brief(s string) string {
	if len(s) > 900 {
		s = s[:900]
	}
	return strings.ToValidUTF8(s, "")
}
