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
	claimSize    = 200             // maximum number of audits in one claim
	retryFailure = 5 * time.Second // pause before a failed audit is tried again
)

// audit is a write that waits for its fan-out, or that this worker fans out.
type audit struct {
	event.Audit
	first, last int64  // first and last moment of its versions
	done        int64  // the write is fanned out up to this moment, including it
	age         int64  // time since the write began, in microseconds
	claims      int    // number of earlier unsuccessful claims
	owner       string // owner of this claim; empty: the write is not claimed
	failed      error  // why some of its versions were left out; nil: no version was left out
}

// isLast reports whether no further claim of the audit is allowed after this claim.
func (a *audit) isLast() bool { return a.claims == lease.MaxClaims-1 }

// FanOut turns all waiting writes into deliveries. If another call is running, FanOut returns at
// once, and the running call reads the waiting writes again. FanOut returns only errors that
// concern all writes, for example fault.Transient if the database is unreachable. It logs errors of
// a single write.
func (w *Worker) FanOut(ctx context.Context) error {
	if !w.running.enter() {
		return nil
	}
	entered := true
	defer func() { // if the caller recovers from a panic, later calls must still be able to run
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

// waiting returns up to claimSize writes that wait and have no valid claim, oldest first. gen is
// the generation of subscriptions. It is read in the same snapshot, so no returned write has a
// higher generation.
//
// One subquery reads the writes that were never claimed. The other reads the writes whose claim has
// expired. Both use the key audit_fan, so the query is fast even if many writes wait or are done.
func (w *Worker) waiting(ctx context.Context) (all []*audit, gen int64, err error) {
	const columns = "SELECT id, request_id, traceparent, reason, application, tool, actor_id, at, first_moment, last_moment, generation, fan_moment, fan_claims FROM audit WHERE fan_state = 0 AND "
	now := w.db.Dialect.NowMicros
	all, err = db.Collect(ctx, w.db, "SELECT id, request_id, COALESCE(traceparent, ''), COALESCE(reason, ''), COALESCE(application, ''), COALESCE(tool, ''), actor_id, at, "+now+` - at, first_moment, last_moment, generation, fan_moment, fan_claims,
		(SELECT value FROM sequence WHERE name = 'webhook') FROM (
			SELECT * FROM (`+columns+`fan_lease = 0 ORDER BY fan_state, fan_lease, id LIMIT ?) n
			UNION ALL
			SELECT * FROM (`+columns+`fan_lease > 0 AND fan_lease <= `+now+` ORDER BY fan_state, fan_lease, id LIMIT ?) e
		) w ORDER BY id LIMIT ?`, []any{claimSize, claimSize, claimSize},
		func(row db.Scanner) (*audit, error) {
			var a audit
			err := row.Scan(&a.ID, &a.Request, &a.Trace, &a.Reason, &a.Application, &a.Tool, &a.Actor, &a.At, &a.age, &a.first, &a.last, &a.Generation, &a.done, &a.claims, &gen)
			return &a, err
		})
	return all, gen, err
}

// claim claims writes and returns the claimed writes. A write with an unsuccessful claim is claimed
// alone. After lease.MaxClaims claims it is set aside.
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

// withoutSuspects returns the audits before the first audit that has an unsuccessful claim. If the
// first audit of the list has an unsuccessful claim, it returns only this audit.
func withoutSuspects(waiting []*audit) []*audit {
	for i, a := range waiting {
		if a.claims > 0 {
			return waiting[:max(i, 1)]
		}
	}
	return waiting
}

// fanOut fans out claimed audits. It processes many small audits together, and a large audit in
// chunks. A failure delays only the audits that it concerns.
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

// fanOutGroup fans out a group of audits. After a failure it fans out each audit alone, to find the
// audit that fails. It returns an error only if the error concerns all audits: the database is
// unreachable, or the worker must stop.
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

// apart is used in place of the size of chunks. Each chunk then has one version, and the event of
// this version is stored in parts.
const apart = 0

// chunkSizes are the sizes of the chunks of a single audit, as numbers of versions. The first claim
// of the audit begins with the first size, the second claim with the second size, and so on. If a
// chunk is too large, the same claim continues with the next size.
var chunkSizes = [lease.MaxClaims]int{change.ChunkSize, change.ChunkSize / 8, change.ChunkSize / 64, 1, apart}

// fanOutInChunks fans out a group of audits. If the chunks of a single audit are too large, it
// tries smaller chunks. For several audits it does not try smaller chunks, because the caller then
// fans out each audit alone.
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

// isTooLarge reports whether a smaller chunk may succeed after an error. This is the case if the
// versions, or the events made from them, exceed a limit, or if the database refuses their size.
func isTooLarge(err error) bool {
	return errors.Is(err, change.ErrTooLarge) || fault.KindOf(err) == fault.Invalid
}

func isUnreachable(err error) bool { return fault.KindOf(err) == fault.Transient }

// groupSize returns how many of the first audits fit into one chunk. It counts the moments of each
// audit, and returns at least 1.
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

// skip marks audits as done without a fan-out, because no subscription is enabled.
func (w *Worker) skip(ctx context.Context, audits []*audit) error {
	err := w.leases.Update(ctx, w.db, audits[0].owner, auditIDs(audits), "fan_state = 1, fan_moment = last_moment, fan_claims = 0")
	if err == nil {
		w.metrics.audits.WithLabelValues("unwanted").Add(float64(len(audits)))
	}
	return ignoreLost(err)
}

// ignoreLost returns nil for the error of a lost lease, because the new owner does the work.
func ignoreLost(err error) error {
	if errors.Is(err, lease.ErrLost) {
		return nil
	}
	return err
}

// failed returns audits to the queue after an error. Their claim counts as unsuccessful, unless the
// database is unreachable or the worker has to stop. If the lease of the audits is lost, failed
// does not change them.
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

// release returns audits to the queue at once. Their claim does not count as unsuccessful.
func (w *Worker) release(ctx context.Context, audits []*audit) {
	if len(audits) == 0 {
		return
	}
	if err := w.leases.Release(ctx, audits[0].owner, auditIDs(audits)); ignoreLost(err) != nil {
		w.log.Warn("audits not released", "err", err)
	}
}

// setAside removes an audit from the queue permanently, because it was claimed too often.
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
