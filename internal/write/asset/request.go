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

// NewRequestID returns an id for a Request. They begin with the time, so that the key
// that refuses a second one grows at its end.
func NewRequestID() string { return uuid.Must(uuid.NewV7()).String() }

// Write runs fn in the transaction of one request and writes its audit. fn may
// run several times, each time from the start, when the database asks for a
// retry. When the connection is lost during commit, the audit shows whether the
// write happened.
// Errors: those of fn; fault.Transient when the database is unavailable;
// ErrModelChanged, which is that, too.
func (e *Engine) Write(ctx context.Context, who auth.Actor, req Request, fn func(*Session) error) error {
	ctx, span := tracing.Child(ctx, "write")
	span.Text("alds.write", req.ID)
	err := e.write(ctx, who, req, span.Parent(), fn)
	span.End(err)
	return err
}

// write runs fn in the transaction of one request. trace is the traceparent that its
// audit keeps; empty: none.
func (e *Engine) write(ctx context.Context, who auth.Actor, req Request, trace string, fn func(*Session) error) error {
	var s *Session
	err := e.db.Write(db.WithMember(ctx, who.Member), func(tx *db.Tx) error {
		s = &Session{e: e, tx: tx, who: who, req: req, trace: trace, aliases: map[string]*Handle{}}
		var err error
		if s.audit, err = e.audits.next(ctx, e.db, tx, 1); err != nil {
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

// Finish writes the audit, after which the request runs no more commands. Write does it
// where its function has not: a function that reads its answer with its last statement
// calls it before, and both go to the server together.
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

// committed tells what a committed write changed to those who keep a copy of it.
func (e *Engine) committed(ctx context.Context, s *Session) {
	if s.modelChanged && e.OnModelChanged != nil {
		e.OnModelChanged(ctx)
	}
	if s.rolesChanged && e.OnRolesChanged != nil {
		e.OnRolesChanged()
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

// ErrModelChanged says that a write was rolled back because the model it went by is
// no longer the present one: it is to be executed again by an engine of that.
var ErrModelChanged error = fault.Transientf(nil, "the model was changed while the request was executed")

// ModelChanged says that the request changes rows of the model: its transaction
// ends by raising the generation, and the answer waits for the new model.
func (s *Session) ModelChanged() { s.modelChanged = true }

// outcomeTries and outcomePause bound the wait for a database that went away
// between our commit and its answer.
const (
	outcomeTries = 20
	outcomePause = 250 * time.Millisecond
)

// findOutcome finds out whether a commit without an answer happened, by an audit of no
// change with the same request id, which is asked for until the database answers.
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

// newMarker takes the id of an audit.
func (e *Engine) newMarker(ctx context.Context) (id int64, err error) {
	err = e.db.Small(ctx, func(tx *db.Tx) (err error) {
		id, err = e.audits.next(ctx, e.db, tx, 1)
		return err
	})
	if err != nil {
		return 0, err
	}
	return id, nil
}

// happened reports whether a request was committed, by writing an audit with the same
// request id and marker as its own. Where that is refused the request happened, unless
// the audit that is there is the marker: that commit's answer may have been lost as well.
// Where it is not refused the request can no longer happen, whatever server still has it.
// Where the server has not given the lost transaction up yet, the insert waits for it.
func (e *Engine) happened(ctx context.Context, who auth.Actor, request string, marker int64) (bool, error) {
	err := e.db.Small(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO audit (id, request_id, actor_id, at, comment, first_moment, last_moment, generation, fan_state)`+
			` VALUES (?, ?, ?, `+tx.Dialect().NowMicros+`, 'the connection to the database was lost', 0, 0, 0, 1)`, marker, request, who.Member)
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

// writeAudit writes the audit row, whose request id refuses a second request with the
// same one. A request that changed nothing needs no fan-out, nor does one at a
// generation of the subscriptions at which none is enabled. A write of changes takes
// its row of write_lock first: that orders it against every change of a webhook
// subscription and of the model, whose generations it then reads.
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
	err := s.insertAudit(ctx, `INSERT INTO audit (id, request_id, actor_id, at, comment, folded, first_moment, last_moment, imported, traceparent, generation, fan_state)`+
		` SELECT ?, ?, ?, `+s.e.db.Dialect.NowMicros+`, ?, ?, ?, ?, ?, ?, `+from, append(args, unwatched...))
	if err != nil {
		return fmt.Errorf("write the audit: %w", err)
	}
	return nil
}

// noteWrite counts the write for those who read elsewhere, unless the engine's generation
// of the model says that nobody does, which is held against the present one.
func (s *Session) noteWrite(ctx context.Context) error {
	if s.e.NobodyElsewhere && s.e.generation != 0 {
		return nil
	}
	everybody := s.modelChanged || s.rolesChanged || s.scopesHidden || s.loginsChanged
	return catalog.NoteWrite(ctx, s.tx, s.who.Member, everybody)
}

// insertAudit runs the statement that writes the audit, where the server can with what
// comes next, and where the database says so notes whether it needs a fan-out.
func (s *Session) insertAudit(ctx context.Context, insert string, args []any) error {
	if s.e.db.Dialect.Returning {
		return s.tx.QueryRow(ctx, insert+` RETURNING fan_state <> 0`, args...).Scan(&s.quiet)
	}
	_, err := s.tx.Later().Exec(ctx, insert, args...)
	return err
}

// generations returns the end of the statement that writes the audit, and its
// arguments: the subscriptions' generation and whether a fan-out is left out. Where the
// model's generation is another than the engine's the first is NULL, which the column
// refuses; see modelChanged.
func (s *Session) generations() (from string, args []any) {
	model := s.e.generation
	if s.modelChanged {
		model++ // by this transaction
	}
	ifPresent := func(value string) string {
		return `CASE m.value WHEN ` + strconv.FormatInt(model, 10) + ` THEN ` + value + ` END`
	}
	switch {
	case s.last == 0 && s.e.generation == 0:
		return `0, 1`, nil
	case s.last == 0:
		return ifPresent(`0`) + `, 1 FROM sequence m WHERE m.name = 'model'`, nil
	}
	args = []any{int64(-1)}
	if s.e.Unwatched != nil {
		args[0] = s.e.Unwatched()
	}
	const watched = `, CASE w.value WHEN ? THEN 1 ELSE 0 END FROM `
	if s.e.generation == 0 {
		return `w.value` + watched + `sequence w WHERE w.name = 'webhook'`, args
	}
	return ifPresent(`w.value`) + watched + `sequence m JOIN sequence w ON w.name = 'webhook' WHERE m.name = 'model'`, args
}

// modelChanged returns ErrModelChanged for the error of a write whose audit was refused
// because of the model's generation, wherever that came to light.
func modelChanged(err error) error {
	if db.RefusesNull(err, "generation") {
		return ErrModelChanged
	}
	return err
}

// ErrRollback is returned by the function of Answer with an answer that is stored
// although the request is rolled back.
var ErrRollback = errors.New("a command of an atomic request failed")

// checkModel refuses to keep what another model than the present one answered.
// Errors: ErrModelChanged.
func (e *Engine) checkModel(ctx context.Context, tx *db.Tx) error {
	if e.generation == 0 {
		return nil
	}
	present, err := catalog.Generation(ctx, tx)
	if err == nil && present != e.generation {
		err = ErrModelChanged
	}
	return err
}

// Answer is Write for a request that has an answer. Under an idempotency key, or
// a claim, the answer is stored in the same transaction, and a repeated request
// gets it.
// Errors: as Write; fault.Conflict when the key was used for another body, or the
// first request is still running; lease.ErrLost when the claim has ended.
func (e *Engine) Answer(ctx context.Context, who auth.Actor, req Request, once requests.Identity, fn func(*Session) ([]byte, error)) ([]byte, error) {
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
		tracing.Wrote(ctx, req.ID) // its answer has it
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
	if errors.Is(err, requests.ErrDuplicate) { // by another process, meanwhile
		return entry.First(ctx)
	}
	if err != nil {
		return nil, err
	}
	return answer, nil
}
