package webhook

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/change"
	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/lease"
)

const (
	claimSize    = 200             // audits claimed at once
	retryFailure = 5 * time.Second // before an audit that failed is tried again
)

// claimed is an audit this worker fans out.
type claimed struct {
	id          int64
	actor       int64 // stored id
	at          int64 // commit time as far as known: when the write began
	first, last int64 // moments
	generation  int64
	fanned      int64 // fanned out up to and including this moment
	claims      int
	owner       string // of this claim only
}

// FanOut turns every write that waits into deliveries and returns when none
// waits. Calls while one is at work make that one look again.
// Errors: fault.Transient when the database is away; others are logged with the
// audit they belong to.
func (w *Worker) FanOut(ctx context.Context) error {
	if !w.fan.enter() {
		return nil
	}
	for {
		err := w.fanAll(ctx)
		if again := w.fan.leave(err != nil); !again {
			return err
		}
	}
}

func (w *Worker) fanAll(ctx context.Context) error {
	for ctx.Err() == nil {
		audits, gen, err := w.claimAudits(ctx)
		if err != nil || len(audits) == 0 {
			return err
		}
		began := time.Now()
		if err := w.fanOut(ctx, audits, gen); err != nil {
			return err
		}
		w.metrics.fanOutTime.Observe(time.Since(began).Seconds())
	}
	return ctx.Err()
}

// claimAudits takes audits that wait, oldest first. An audit whose last claim
// never ended comes alone, so that one that kills its worker takes no other
// with it; after maxClaims it is set aside. The generation is read in the same
// snapshot as the audits: it is no lower than that of any of them.
func (w *Worker) claimAudits(ctx context.Context) (waiting []*claimed, gen int64, err error) {
	now := w.db.Dialect.NowMicros
	rows, err := w.db.Query(ctx, `SELECT id, actor_id, at, first_moment, last_moment, generation, fan_moment, fan_claims,
		(SELECT value FROM sequence WHERE name = 'webhook') FROM audit WHERE fan_state = 0 AND fan_lease <= `+now+` ORDER BY id LIMIT ?`, claimSize)
	if err != nil {
		return nil, 0, err
	}
	if waiting, gen, err = scanAudits(rows); err != nil || len(waiting) == 0 {
		return nil, 0, err
	}
	waiting = alone(waiting)
	if waiting[0].claims >= lease.MaxClaims {
		return nil, 0, w.setAside(ctx, waiting[0])
	}
	owner := uuid.NewString()
	held, err := w.leases.Claim(ctx, w.db, owner, auditIDs(waiting))
	if err != nil {
		return nil, 0, err
	}
	waiting = slices.DeleteFunc(waiting, func(a *claimed) bool { return !slices.Contains(held, a.id) })
	for _, a := range waiting {
		a.owner = owner
	}
	return waiting, gen, nil
}

// alone keeps the audits that may be worked on together.
func alone(waiting []*claimed) []*claimed {
	for i, a := range waiting {
		if a.claims > 0 {
			return waiting[:max(i, 1)]
		}
	}
	return waiting
}

func scanAudits(rows *db.Rows) (all []*claimed, gen int64, err error) {
	defer rows.Close()
	for rows.Next() {
		var a claimed
		var first, last, fanned sql.NullInt64
		if err := rows.Scan(&a.id, &a.actor, &a.at, &first, &last, &a.generation, &fanned, &a.claims, &gen); err != nil {
			return nil, 0, err
		}
		a.first, a.last, a.fanned = first.Int64, last.Int64, fanned.Int64
		all = append(all, &a)
	}
	return all, gen, rows.Err()
}

// fanOut works on claimed audits, many small ones together and a large one in
// chunks. A failure holds up only the audits it concerns.
func (w *Worker) fanOut(ctx context.Context, audits []*claimed, gen int64) error {
	idx, err := w.index(ctx, &w.cache, gen)
	if err == nil && idx.targets == 0 {
		err = w.skip(ctx, audits)
		audits = nil
	}
	if err == nil && len(audits) > 0 {
		defer w.leases.Keep(ctx, audits[0].owner, auditIDs(audits), func(err error) {
			if !errors.Is(err, lease.ErrLost) {
				w.log.Warn("audit claims not renewed", "err", err)
			}
		})()
	}
	for err == nil && len(audits) > 0 {
		n := together(audits)
		err = w.fanTogether(ctx, idx, audits[:n])
		audits = audits[n:]
	}
	w.release(ctx, audits)
	return err
}

// fanTogether fans out one group. The error is one that concerns every audit:
// the database is away, or the worker is to stop.
func (w *Worker) fanTogether(ctx context.Context, idx *index, group []*claimed) error {
	err := w.fanGroup(ctx, idx, group)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil || isAway(err) || len(group) == 1 {
		w.failed(ctx, group, err)
	} else { // one of them is at fault: find out which
		for _, a := range group {
			if err := w.fanGroup(ctx, idx, []*claimed{a}); err != nil {
				w.failed(ctx, []*claimed{a}, err)
			}
		}
	}
	if isAway(err) {
		return err
	}
	return ctx.Err()
}

func isAway(err error) bool { return fault.KindOf(err) == fault.Transient }

// together counts the audits that fit into one chunk by their moments.
func together(audits []*claimed) int {
	sum := int64(0)
	for i, a := range audits {
		sum += a.last - max(a.fanned, a.first-1)
		if sum > change.ChunkSize {
			return max(i, 1)
		}
	}
	return len(audits)
}

// skip marks audits as done that nobody subscribes to.
func (w *Worker) skip(ctx context.Context, audits []*claimed) error {
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

// failed gives audits back after an error. An outage costs them nothing; any
// other failure counts, and after maxClaims sets them aside.
func (w *Worker) failed(ctx context.Context, audits []*claimed, cause error) {
	if errors.Is(cause, lease.ErrLost) {
		w.metrics.lost.Inc()
		return
	}
	if isAway(cause) || ctx.Err() != nil {
		w.release(ctx, audits)
		return
	}
	for _, a := range audits {
		w.log.Error("fan-out failed", "audit", a.id, "claims", a.claims+1, "err", cause)
		w.metrics.audits.WithLabelValues("failed").Inc()
		err := w.leases.Update(ctx, w.db, a.owner, []int64{a.id}, "fan_error = ?", brief(cause.Error()))
		if err == nil {
			err = w.leases.Retry(ctx, a.owner, []int64{a.id}, retryFailure)
		}
		if err != nil {
			w.log.Warn("audit not given back", "audit", a.id, "err", err)
		}
	}
}

// release gives audits back at once and takes the claim off the count.
func (w *Worker) release(ctx context.Context, audits []*claimed) {
	if len(audits) == 0 {
		return
	}
	if err := w.leases.Release(ctx, audits[0].owner, auditIDs(audits)); ignoreLost(err) != nil {
		w.log.Warn("audits not given back", "err", err)
	}
}

// setAside takes an audit out of the queue that was claimed too often.
func (w *Worker) setAside(ctx context.Context, a *claimed) error {
	why := "claimed " + strconv.Itoa(a.claims) + " times without an end"
	n, err := w.leases.GiveUp(ctx, w.db, []int64{a.id}, "fan_state = 2, fan_error = COALESCE(fan_error, ?)", why)
	if err != nil {
		return err
	}
	if n == 1 {
		w.metrics.audits.WithLabelValues("set_aside").Inc()
		w.log.Error("audit set aside", "audit", a.id, "claims", a.claims)
	}
	w.fan.again()
	return nil
}

func auditIDs(audits []*claimed) []int64 {
	ids := make([]int64, len(audits))
	for i, a := range audits {
		ids[i] = a.id
	}
	return ids
}

// brief cuts a text for a column that people read.
func brief(s string) string {
	if len(s) > 900 {
		s = s[:900]
	}
	return strings.ToValidUTF8(s, "")
}
