package asset

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/base/folding"
	"github.com/alds-dev/alds/internal/base/tracing"
	"github.com/alds-dev/alds/internal/model/catalog"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/requests"
)

// NewRequestID returns an id for a Request. Ids begin with the time, so that the unique index
// on them grows at its end.
func NewRequestID() string { return uuid.Must(uuid.NewV7()).String() }

// Write runs fn in the transaction of one request and writes its audit. fn may run several
// times, each time from the start, because the database may require a retry. If the connection
// is lost during the commit, Write finds out by the audit whether the write happened.
// Errors: those of fn; fault.Transient when the database is unavailable; ErrModelChanged, which
// is also a fault.Transient.
func (e *Engine) Write(ctx context.Context, who auth.Actor, req Request, fn func(*Session) error) error {
	ctx, span := tracing.Child(ctx, "write")
	span.Text("alds.write", req.ID)
	err := e.write(ctx, who, req, span.Parent(), fn)
	span.End(err)
	return err
}

// write does the same as Write without tracing. trace is the traceparent to store in the audit;
// empty: none.
func (e *Engine) write(ctx context.Context, who auth.Actor, req Request, trace string, fn func(*Session) error) error {
	var s *Session
	err := e.db.Write(db.WithMember(ctx, who.Member), func(tx *db.Tx) error {
		s = &Session{e: e, tx: tx, who: who, req: req, trace: trace, aliases: map[string]*Handle{}}
		var err error
		if s.audit, err = e.audits.Next(ctx, e.db, tx, 1); err != nil {
			return err
		}
		if err := fn(s); err != nil {
			return err
		}
		return s.Finish(ctx)
	})
	err = modelChanged(err)
	if errors.Is(err, db.ErrUnknownOutcome) {
		err = e.findOutcome(ctx, who, req.ID, err)
	}
	if err == nil {
		tracing.Wrote(ctx, req.ID)
		e.committed(ctx, s)
	}
	return err
}

// Finish writes the audit. The request cannot run commands after that. Write calls Finish if
// its function has not. A function that reads its answer from the database should call Finish
// just before, so that the audit and the last statement go to the server together.
// Errors: fault.Denied for a request that would leave no administrator.
func (s *Session) Finish(ctx context.Context) error {
	if s.finished {
		return nil
	}
	s.finished = true
	if err := s.checkAdministrators(ctx); err != nil {
		return err
	}
	if s.modelChanged {
		if err := catalog.Raise(ctx, s.tx); err != nil {
			return err
		}
	}
	return s.writeAudit(ctx)
}

// committed calls the callbacks and the listener of the engine after a commit.
func (e *Engine) committed(ctx context.Context, s *Session) {
	if s.modelChanged && e.OnModelChanged != nil {
		e.OnModelChanged(ctx)
	}
	if s.rolesChanged && e.OnRolesChanged != nil {
		e.OnRolesChanged(s.administratorsChanged)
	}
	if s.scopesHidden && e.OnScopesHidden != nil {
		e.OnScopesHidden()
	}
	if s.loginsChanged && e.OnLoginsChanged != nil {
		e.OnLoginsChanged()
	}
	if s.last > 0 && e.listener != nil {
		e.listener.Committed(s.audit, s.req.ID, !s.quiet)
	}
}

// ErrModelChanged reports that a write was rolled back because the model of its engine is no
// longer current. The caller runs it again with an engine of the current model.
var ErrModelChanged error = fault.Transientf(nil, "the model was changed while the request was executed")

// ModelChanged records that the request changes rows of the model. Finish then raises the
// generation of the model, and Write calls OnModelChanged before it returns.
func (s *Session) ModelChanged() { s.modelChanged = true }

// outcomeTries and outcomePause bound how long findOutcome waits for the database.
const (
	outcomeTries = 20
	outcomePause = 250 * time.Millisecond
)

// findOutcome finds out whether a commit happened whose answer was lost. It returns nil if it
// happened. It calls happened until the database answers; lost is the error of the commit.
// Errors: fault.Transient if nothing was changed; lost if the database does not answer in time.
func (e *Engine) findOutcome(ctx context.Context, who auth.Actor, request string, lost error) error {
	var marker int64
	for range outcomeTries {
		var happened bool
		var err error
		if marker == 0 {
			marker, err = e.newMarker(ctx)
		}
		if err == nil {
			happened, err = e.happened(ctx, who, request, marker)
		}
		switch {
		case err == nil && happened:
			return nil
		case err == nil:
			return fault.Transientf(lost, "the connection to the database was lost, and nothing was changed")
		case fault.KindOf(err) != fault.Transient:
			return err
		}
		select {
		case <-ctx.Done():
			return lost
		case <-time.After(outcomePause):
		}
	}
	return lost
}

// newMarker returns an unused id for an audit.
func (e *Engine) newMarker(ctx context.Context) (id int64, err error) {
	err = e.db.Small(ctx, func(tx *db.Tx) (err error) {
		id, err = e.audits.Next(ctx, e.db, tx, 1)
		return err
	})
	if err != nil {
		return 0, err
	}
	return id, nil
}

// happened reports whether a request was committed. It inserts an empty audit with the same
// request id and with marker as its id. If the transaction of the request is still open, the
// insert waits until it ends.
//
// If the insert succeeds, the request was not committed, and it can never be committed, because
// its request id is taken. If the insert is refused, the request was committed, unless the
// existing audit has the id marker. An earlier call then inserted it, and its answer was lost.
func (e *Engine) happened(ctx context.Context, who auth.Actor, request string, marker int64) (bool, error) {
	err := e.db.Small(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO audit`+
			` (id, request_id, actor_id, at, comment, first_moment, last_moment, generation, fan_state)`+
			` VALUES (?, ?, ?, `+tx.Dialect().NowMicros+`, 'the connection to the database was lost', 0, 0, 0, 1)`,
			marker, request, who.Member)
		return err
	})
	if fault.KindOf(err) != fault.Conflict {
		return false, err
	}
	var id int64
	err = e.db.One(ctx, func(q db.Querier) error {
		return q.QueryRow(ctx, `SELECT id FROM audit WHERE request_id = ?`, request).Scan(&id)
	})
	return id != marker, err
}

// writeAudit writes the audit. Its request id is unique, so a second request with the same id
// is refused. The audit needs no fan-out if the request changed nothing, or if no subscription
// is enabled at the current generation of the subscriptions.
//
// A request with changes first locks a row of write_lock. Until it commits, no subscription and
// no part of the model can change. So the generations that the statement then reads are those at
// the commit.
func (s *Session) writeAudit(ctx context.Context) error {
	var comment, folded, trace any
	if s.trace != "" {
		trace = s.trace
	}
	if s.req.Comment != "" {
		comment = s.req.Comment
	}
	if !folding.IsPlain(s.req.Comment) {
		folded = folding.Of(s.req.Comment)
	}
	imported := int64(0)
	if s.req.Import {
		imported = 1
		if err := s.noteImport(ctx); err != nil {
			return err
		}
	}

	if s.last > 0 {
		if err := catalog.LockWrite(ctx, s.tx); err != nil {
			return err
		}
		if err := s.noteWrite(ctx); err != nil {
			return err
		}
	}

	from, unwatched := s.generations()
	args := []any{s.audit, s.req.ID, s.who.Member, comment, folded, s.first, s.last, imported, trace}
	err := s.insertAudit(ctx, `INSERT INTO audit`+
		` (id, request_id, actor_id, at, comment, folded, first_moment, last_moment, imported, traceparent,`+
		` generation, fan_state)`+
		` SELECT ?, ?, ?, `+s.e.db.Dialect.NowMicros+`, ?, ?, ?, ?, ?, ?, `+from, append(args, unwatched...))
	if err != nil {
		return fmt.Errorf("write the audit: %w", err)
	}
	return nil
}

// noteWrite counts the write for processes that read from other servers. The count is not
// needed if NobodyElsewhere is set at the generation of the engine. generations makes sure that
// this is still the current generation.
func (s *Session) noteWrite(ctx context.Context) error {
	if s.e.NobodyElsewhere && s.e.generation != 0 {
		return nil
	}
	everybody := s.modelChanged || s.rolesChanged || s.scopesHidden || s.loginsChanged
	return catalog.NoteWrite(ctx, s.tx, s.who.Member, everybody)
}

// insertAudit runs the statement that writes the audit. If the database supports RETURNING, it
// also sets s.quiet. If not, the statement goes to the server together with the next one.
func (s *Session) insertAudit(ctx context.Context, insert string, args []any) error {
	if s.e.db.Dialect.Returning {
		return s.tx.QueryRow(ctx, insert+` RETURNING fan_state <> 0`, args...).Scan(&s.quiet)
	}
	_, err := s.tx.Later().Exec(ctx, insert, args...)
	return err
}

// generations returns the end of the statement that writes the audit, and its arguments. It
// selects the values of the columns generation, which is the generation of the subscriptions,
// and fan_state, which is 1 if no fan-out is needed. If the generation of the model is not the
// generation of the engine, the value of the column generation is NULL. The column refuses NULL;
// see modelChanged.
func (s *Session) generations() (from string, args []any) {
	model := s.e.generation
	if s.modelChanged {
		model++ // this transaction has raised the generation
	}
	ifCurrent := func(value string) string {
		return `CASE m.value WHEN ` + strconv.FormatInt(model, 10) + ` THEN ` + value + ` END`
	}
	switch {
	case s.last == 0 && s.e.generation == 0:
		return `0, 1`, nil
	case s.last == 0:
		return ifCurrent(`0`) + `, 1 FROM sequence m WHERE m.name = 'model'`, nil
	}

	args = []any{int64(-1)}
	if s.e.Unwatched != nil {
		args[0] = s.e.Unwatched()
	}
	const watched = `, CASE w.value WHEN ? THEN 1 ELSE 0 END FROM `
	if s.e.generation == 0 {
		return `w.value` + watched + `sequence w WHERE w.name = 'webhook'`, args
	}
	return ifCurrent(`w.value`) + watched + `sequence m JOIN sequence w ON w.name = 'webhook' WHERE m.name = 'model'`, args
}

// modelChanged returns ErrModelChanged if the database has refused the audit because of the
// generation of the model; else it returns err. The insert of the audit, a later statement or
// the commit may have returned err.
func modelChanged(err error) error {
	if db.RefusesNull(err, "generation") {
		return ErrModelChanged
	}
	return err
}

// ErrRollback is the error with which the function of Answer rolls its request back. Answer
// then still stores and returns the answer of the function.
var ErrRollback = errors.New("a command of an atomic request failed")

// checkModel returns an error if the model of the engine is not current. An answer that depends
// on an old model must not be stored.
// Errors: ErrModelChanged.
func (e *Engine) checkModel(ctx context.Context, tx *db.Tx) error {
	if e.generation == 0 {
		return nil
	}
	current, err := catalog.Generation(ctx, tx)
	if err == nil && current != e.generation {
		err = ErrModelChanged
	}
	return err
}

// Answer does the same as Write for a request that has an answer. If the request has an idempotency
// key or a claim, the answer is stored in the same transaction. A repeated request returns the
// stored answer.
// Errors: as Write; fault.Conflict when the key was used for another body, or the
// first request is still running; lease.ErrLost when the claim has ended.
func (e *Engine) Answer(
	ctx context.Context, who auth.Actor, req Request, once requests.Identity, fn func(*Session) ([]byte, error),
) ([]byte, error) {
	entry, answer, err := e.Requests.Begin(ctx, who.Member, req.ID, once)
	if entry == nil {
		return answer, err
	}
	defer entry.End()

	err = e.Write(ctx, who, req, func(s *Session) error {
		if err := entry.Insert(s.tx); err != nil {
			return err
		}
		var err error
		if answer, err = fn(s); err != nil {
			return err
		}
		return entry.StoreAnswer(ctx, s.tx, answer)
	})
	if errors.Is(err, ErrRollback) {
		tracing.Wrote(ctx, req.ID) // the stored answer has the id, too
		err = e.db.Write(ctx, func(tx *db.Tx) error {
			if err := e.checkModel(ctx, tx); err != nil {
				return err
			}
			if err := entry.Insert(tx); err != nil {
				return err
			}
			return entry.StoreAnswer(ctx, tx, answer)
		})
	}
	if errors.Is(err, requests.ErrDuplicate) { // another process has stored an answer meanwhile
		return entry.First(ctx)
	}
	if err != nil {
		return nil, err
	}
	return answer, nil
}
