package webhook

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/change"
	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
)

const (
	claimSize  = 200             // audits claimed at once
	auditLease = 6 * time.Second // how long a claim holds unless it is renewed
	renewEvery = 2 * time.Second
	maxClaims  = 5               // claims without an end before a row is set aside
	faultPause = 5 * time.Second // before an audit that failed is tried again
)

// errLost says that a claim ended before its work did; somebody else has it.
var errLost = errors.New("claim lost")

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
	if waiting[0].claims >= maxClaims {
		return nil, 0, w.setAuditAside(ctx, waiting[0], "claimed "+strconv.Itoa(waiting[0].claims)+" times without an end")
	}
	owner := uuid.NewString()
	in, args := db.InArgs(auditIDs(waiting))
	res, err := w.db.Exec(ctx, `UPDATE audit SET fan_owner = ?, fan_fence = fan_fence + 1, fan_lease = `+now+` + ?,
		fan_claims = fan_claims + 1 WHERE id IN `+in+` AND fan_state = 0 AND fan_lease <= `+now,
		append([]any{owner, auditLease.Microseconds()}, args...)...)
	if err != nil {
		return nil, 0, err
	}
	if n, err := res.RowsAffected(); err != nil || int(n) < len(waiting) {
		if waiting, err = w.owned(ctx, waiting, owner); err != nil {
			return nil, 0, err
		}
	}
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

// owned keeps the audits that the owner's claim got: another worker was
// quicker with the rest.
func (w *Worker) owned(ctx context.Context, waiting []*claimed, owner string) ([]*claimed, error) {
	in, args := db.InArgs(auditIDs(waiting))
	rows, err := w.db.Query(ctx, "SELECT id FROM audit WHERE id IN "+in+" AND fan_owner = ?", append(args, owner)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	ours := map[int64]bool{}
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ours[id] = true
	}
	var kept []*claimed
	for _, a := range waiting {
		if ours[a.id] {
			kept = append(kept, a)
		}
	}
	return kept, rows.Err()
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
		stop := w.keepAudits(ctx, audits)
		defer stop()
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
	in, args := db.InArgs(auditIDs(audits))
	_, err := w.db.Exec(ctx, `UPDATE audit SET fan_state = 1, fan_moment = last_moment, fan_claims = 0
		WHERE id IN `+in+` AND fan_owner = ? AND fan_state = 0`, append(args, audits[0].owner)...)
	if err == nil {
		w.metrics.audits.WithLabelValues("unwanted").Add(float64(len(audits)))
	}
	return err
}

// failed gives audits back after an error. An outage costs them nothing; any
// other failure counts, and after maxClaims sets them aside.
func (w *Worker) failed(ctx context.Context, audits []*claimed, cause error) {
	if errors.Is(cause, errLost) {
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
		_, err := w.db.Exec(ctx, `UPDATE audit SET fan_lease = `+w.db.Dialect.NowMicros+` + ?, fan_error = ?
			WHERE id = ? AND fan_owner = ? AND fan_state = 0`, faultPause.Microseconds(), brief(cause.Error()), a.id, a.owner)
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewEvery)
	defer cancel()
	in, args := db.InArgs(auditIDs(audits))
	_, err := w.db.Exec(ctx, `UPDATE audit SET fan_lease = 0, fan_claims = fan_claims - 1
		WHERE id IN `+in+` AND fan_owner = ? AND fan_state = 0`, append(args, audits[0].owner)...)
	if err != nil {
		w.log.Warn("audits not given back", "err", err)
	}
}

func (w *Worker) setAuditAside(ctx context.Context, a *claimed, why string) error {
	res, err := w.db.Exec(ctx, `UPDATE audit SET fan_state = 2, fan_error = COALESCE(fan_error, ?)
		WHERE id = ? AND fan_state = 0 AND fan_claims = ? AND fan_lease <= `+w.db.Dialect.NowMicros, why, a.id, a.claims)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err == nil && n == 1 {
		w.metrics.audits.WithLabelValues("set_aside").Inc()
		w.log.Error("audit set aside", "audit", a.id, "claims", a.claims)
	}
	w.fan.again()
	return nil
}

// keepAudits renews the claim until the returned function is called.
func (w *Worker) keepAudits(ctx context.Context, audits []*claimed) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	in, args := db.InArgs(auditIDs(audits))
	args = append(append([]any{auditLease.Microseconds()}, args...), audits[0].owner)
	go func() {
		tick := time.NewTicker(renewEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			now := w.db.Dialect.NowMicros
			_, err := w.db.Exec(ctx, "UPDATE audit SET fan_lease = "+now+" + ? WHERE id IN "+in+
				" AND fan_owner = ? AND fan_state = 0 AND fan_lease > "+now, args...)
			if err != nil && ctx.Err() == nil {
				w.log.Warn("audit claim not renewed", "err", err)
			}
		}
	}()
	return cancel
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
