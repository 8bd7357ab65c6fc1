package webhook

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/events/delivery"
	"github.com/alds-dev/alds/internal/events/event"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/lease"
)

const (
	claimSize    = 200             // audits claimed at once
	retryFailure = 5 * time.Second // before an audit that failed is tried again
)

// audit is one write that waits, or that this worker has claimed.
type audit struct {
	event.Audit
	first, last int64 // moments
	done        int64 // fanned out up to and including this moment
	age         int64 // since the write began; microseconds
	claims      int
	owner       string // of this claim only; empty without one
	failed      error  // why some of its versions were left out; nil: none was
}

// isLast reports whether the audit is not claimed again.
func (a *audit) isLast() bool { return a.claims == lease.MaxClaims-1 }

// FanOut turns all waiting writes into deliveries. A call while another one runs
// returns at once and makes that one look again.
// Errors: fault.Transient when the database is unreachable; others are logged
// with their audit.
func (w *Worker) FanOut(ctx context.Context) error {
	if !w.running.enter() {
		return nil
	}
	entered := true
	defer func() { // a panic, which the caller recovers, must not shut the gate for ever
		if entered {
			w.running.leave(true)
		}
	}()
	for {
		err := w.fanAll(ctx)
		if entered = w.running.leave(err != nil); !entered {
			return err
		}
	}
}

func (w *Worker) fanAll(ctx context.Context) error {
	for ctx.Err() == nil {
		waiting, gen, err := w.waiting(ctx)
		if err != nil || len(waiting) == 0 {
			return err
		}
		began := time.Now()
		if ended, err := w.fanOutFresh(ctx, waiting, gen); err != nil {
			return err
		} else if !ended {
			audits, err := w.claim(ctx, waiting)
			if err != nil || len(audits) == 0 {
				return err
			}
			if err := w.fanOut(ctx, audits, gen); err != nil {
				return err
			}
		}
		w.metrics.fanOutTime.Observe(time.Since(began).Seconds())
	}
	return ctx.Err()
}

// waiting returns writes that wait and that nobody has claimed, oldest first. The
// generation is read in the same snapshot: it is no lower than that of any of them.
// Those never claimed and those whose claim ended are looked up apart, each along the
// key audit_fan, so that it takes no longer where many wait, nor where many are done.
func (w *Worker) waiting(ctx context.Context) (all []*audit, gen int64, err error) {
	const columns = "SELECT id, request_id, traceparent, actor_id, at, first_moment, last_moment, generation, fan_moment, fan_claims FROM audit WHERE fan_state = 0 AND "
	now := w.db.Dialect.NowMicros
	all, err = db.Collect(ctx, w.db, "SELECT id, request_id, COALESCE(traceparent, ''), actor_id, at, "+now+` - at, first_moment, last_moment, generation, fan_moment, fan_claims,
		(SELECT value FROM sequence WHERE name = 'webhook') FROM (
			SELECT * FROM (`+columns+`fan_lease = 0 ORDER BY fan_state, fan_lease, id LIMIT ?) n
			UNION ALL
			SELECT * FROM (`+columns+`fan_lease > 0 AND fan_lease <= `+now+` ORDER BY fan_state, fan_lease, id LIMIT ?) e
		) w ORDER BY id LIMIT ?`, []any{claimSize, claimSize, claimSize},
		func(row db.Scanner) (*audit, error) {
			var a audit
			err := row.Scan(&a.ID, &a.Request, &a.Trace, &a.Actor, &a.At, &a.age, &a.first, &a.last, &a.Generation, &a.done, &a.claims, &gen)
			return &a, err
		})
	return all, gen, err
}

// claim claims writes. One whose last claim did not end is claimed alone, and is
// set aside after lease.MaxClaims.
func (w *Worker) claim(ctx context.Context, waiting []*audit) ([]*audit, error) {
	waiting = withoutSuspects(waiting)
	if waiting[0].claims >= lease.MaxClaims {
		return nil, w.setAside(ctx, waiting[0])
	}
	owner := uuid.NewString()
	held, err := w.leases.Claim(ctx, w.db, owner, auditIDs(waiting))
	if err != nil {
		return nil, err
	}
	waiting = slices.DeleteFunc(waiting, func(a *audit) bool { return !slices.Contains(held, a.ID) })
	for _, a := range waiting {
		a.owner = owner
	}
	return waiting, nil
}

// withoutSuspects returns the audits up to the first one whose last claim did not
// end; that one alone when it is the first.
func withoutSuspects(waiting []*audit) []*audit {
	for i, a := range waiting {
		if a.claims > 0 {
			return waiting[:max(i, 1)]
		}
	}
	return waiting
}

// fanOut fans out claimed audits: many small ones together, a large one in
// chunks. A failure delays only the audits it concerns.
func (w *Worker) fanOut(ctx context.Context, audits []*audit, gen int64) error {
	idx, err := w.index(ctx, &w.cache, gen)
	if err != nil {
		w.release(ctx, audits)
		return err
	}
	if len(idx.targets) == 0 {
		return w.skip(ctx, audits)
	}
	defer w.leases.AutoRenew(ctx, audits[0].owner, auditIDs(audits), func(err error) {
		if ignoreLost(err) != nil {
			w.log.Warn("audit claims not renewed", "err", err)
		}
	})()
	for len(audits) > 0 {
		n := groupSize(audits)
		if err := w.fanOutGroup(ctx, idx, audits[:n]); err != nil {
			w.release(ctx, audits[n:])
			return err
		}
		audits = audits[n:]
	}
	return nil
}

// fanOutGroup fans out a group. After a failure it fans out each of its audits
// alone, to find the one that failed. The error is one that concerns all audits:
// the database is unreachable, or the worker has to stop.
func (w *Worker) fanOutGroup(ctx context.Context, idx *index, group []*audit) error {
	err := w.fanOutInChunks(ctx, idx, group)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil || isUnreachable(err) || len(group) == 1 {
		w.failed(ctx, group, err)
	} else {
		for _, a := range group {
			if err := w.fanOutInChunks(ctx, idx, []*audit{a}); err != nil {
				w.failed(ctx, []*audit{a}, err)
			}
		}
	}
	if isUnreachable(err) {
		return err
	}
	return ctx.Err()
}

// apart is the size of chunks of one version whose events are made and stored in parts.
const apart = 0

// chunkSizes are the sizes of the chunks of one audit: of each further claim, and after
// chunks that were too large, the next.
var chunkSizes = [lease.MaxClaims]int{change.ChunkSize, change.ChunkSize / 8, change.ChunkSize / 64, 1, apart}

// fanOutInChunks fans out a group, a single audit by fewer versions at a time where they
// are too large to be taken together. Errors: isTooLarge for several audits.
func (w *Worker) fanOutInChunks(ctx context.Context, idx *index, group []*audit) (err error) {
	sizes := chunkSizes[:1]
	if len(group) == 1 {
		sizes = chunkSizes[group[0].claims:]
	}
	for _, size := range sizes {
		if err = w.runPipeline(ctx, idx, group, size); !isTooLarge(err) {
			return err
		}
	}
	return err
}

// isTooLarge reports whether versions are to be taken in smaller chunks: more would be
// read or made of them than may be, or the database does not take it.
func isTooLarge(err error) bool {
	return errors.Is(err, change.ErrTooLarge) || fault.KindOf(err) == fault.Invalid
}

func isUnreachable(err error) bool { return fault.KindOf(err) == fault.Transient }

// groupSize is how many audits fit into one chunk by their moments.
func groupSize(audits []*audit) int {
	sum := int64(0)
	for i, a := range audits {
		sum += a.last - max(a.done, a.first-1)
		if sum > change.ChunkSize {
			return max(i, 1)
		}
	}
	return len(audits)
}

// skip marks audits as done when there are no subscriptions.
func (w *Worker) skip(ctx context.Context, audits []*audit) error {
	err := w.leases.Update(ctx, w.db, audits[0].owner, auditIDs(audits), "fan_state = 1, fan_moment = last_moment, fan_claims = 0")
	if err == nil {
		w.metrics.audits.WithLabelValues("unwanted").Add(float64(len(audits)))
	}
	return ignoreLost(err)
}

// ignoreLost drops the error of a lost lease where the new owner does the work.
func ignoreLost(err error) error {
	if errors.Is(err, lease.ErrLost) {
		return nil
	}
	return err
}

// failed returns audits to the queue after an error. The claim counts unless the
// database was unreachable or the worker has to stop.
func (w *Worker) failed(ctx context.Context, audits []*audit, cause error) {
	if errors.Is(cause, lease.ErrLost) {
		w.metrics.lost.Inc()
		return
	}
	if isUnreachable(cause) || ctx.Err() != nil {
		w.release(ctx, audits)
		return
	}
	for _, a := range audits {
		w.log.Error("fan-out failed", "audit", a.ID, "write", a.Request, "claims", a.claims+1, "err", cause)
		w.metrics.audits.WithLabelValues("failed").Inc()
		err := w.leases.Update(ctx, w.db, a.owner, []int64{a.ID}, "fan_error = ?", delivery.Truncate(cause.Error()))
		if err == nil {
			err = w.leases.Retry(ctx, a.owner, []int64{a.ID}, retryFailure)
		}
		if err != nil {
			w.log.Warn("audit not released", "audit", a.ID, "write", a.Request, "err", err)
		}
	}
}

// release returns audits to the queue at once; the claim does not count.
func (w *Worker) release(ctx context.Context, audits []*audit) {
	if len(audits) == 0 {
		return
	}
	if err := w.leases.Release(ctx, audits[0].owner, auditIDs(audits)); ignoreLost(err) != nil {
		w.log.Warn("audits not released", "err", err)
	}
}

// setAside gives up an audit that was claimed too often.
func (w *Worker) setAside(ctx context.Context, a *audit) error {
	why := "claimed " + strconv.Itoa(a.claims) + " times without an end"
	n, err := w.leases.GiveUp(ctx, w.db, []int64{a.ID}, "fan_state = 2, fan_error = COALESCE(fan_error, ?)", why)
	if err != nil {
		return err
	}
	if n == 1 {
		w.metrics.audits.WithLabelValues("set_aside").Inc()
		w.log.Error("audit set aside", "audit", a.ID, "write", a.Request, "claims", a.claims)
	}
	w.running.repeat()
	return nil
}

func auditIDs(audits []*audit) []int64 {
	ids := make([]int64, len(audits))
	for i, a := range audits {
		ids[i] = a.ID
	}
	return ids
}
