package asset

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/base/tracing"
	"github.com/alds-dev/alds/internal/model/catalog"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset/audit"
	"github.com/alds-dev/alds/internal/write/requests"
)

// NewRequestID returns an id for a Request. Ids begin with the time, so that the unique index
// on them grows at its end.
func NewRequestID() string { return uuid.Must(uuid.NewV7()).String() }

// Write runs fn in the transaction of one request and writes the audit row of the request. fn may
// run several times, each time from the start, because the database may require a retry. If the
// connection is lost during the commit, Write looks for the audit row to find out whether the
// write happened.
// Errors: those of fn; fault.Denied if the bounds of the access token forbid the request;
// fault.Transient when the database is unavailable; ErrModelChanged, which is also a
// fault.Transient.
func (e *Engine) Write(ctx context.Context, who auth.Actor, req Request, fn func(*Session) error) error {
	if err := who.Bounds.Write(req.Way); err != nil && !req.Trial {
		return err
	}
	ctx, span := tracing.Child(ctx, "write")
	span.Text("alds.write", req.ID)
	err := e.write(ctx, who, req, span.Parent(), fn)
	span.End(err)
	return err
}

// write does the same as Write without tracing. trace is the traceparent to store in the audit
// row; empty: none.
func (e *Engine) write(ctx context.Context, who auth.Actor, req Request, trace string, fn func(*Session) error) error {
	var s *Session
	err := e.db.Write(db.WithMember(ctx, who.Member), func(tx *db.Tx) error {
		s = &Session{e: e, tx: tx, who: who, req: req, trace: trace, tool: trail.OriginOf(ctx).Tool, aliases: map[string]*Handle{}}
		var err error
		if s.audit, err = e.audits.NextID(ctx, tx); err != nil {
			return err
		}
		switch err := fn(s); {
		case err != nil:
			return err
		case req.Trial:
			return errors.New("a trial was not rolled back")
		}
		return s.Finish(ctx)
	})
	if audit.RefusesModel(err) {
		err = ErrModelChanged
	}
	if errors.Is(err, db.ErrUnknownOutcome) {
		err = e.audits.Outcome(ctx, who.Member, req.ID, err)
	}
	if err == nil {
		tracing.Wrote(ctx, req.ID)
		e.committed(ctx, s)
	}
	return err
}

// Finish writes the audit row. The request cannot run commands after that. Write calls Finish if
// its function has not called it. A function that reads its answer from the database should call
// Finish just before it reads, so that the audit row and the last statement go to the database
// server together.
// Errors: fault.Denied for a request that would leave no administrator, and for one with more changes than the bounds
// of the access token allow.
func (s *Session) Finish(ctx context.Context) error {
	if s.finished {
		return nil
	}
	s.finished = true
	if err := s.checkAdministrators(ctx); err != nil {
		return err
	}
	if err := s.checkChanges(ctx); err != nil {
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

// writeAudit writes the audit row.
//
// A request with changes first locks a row of write_lock. Until the request commits, no
// subscription and no part of the model can change. So the generations that the insert of the
// audit row reads are still current at the commit.
func (s *Session) writeAudit(ctx context.Context) error {
	if s.req.Import {
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

	row := audit.Row{
		ID: s.audit, Request: s.req.ID, Member: s.who.Member, Comment: s.req.Comment, First: s.first, Last: s.last,
		Imported: s.req.Import, Trace: s.trace, Token: s.who.Token, Application: s.who.Application, Tool: s.tool, Model: s.e.generation, Unwatched: -1,
	}
	if row.Model != 0 && s.modelChanged {
		row.Model++ // this transaction has raised the generation
	}
	if s.last > 0 && s.e.Unwatched != nil {
		row.Unwatched = s.e.Unwatched()
	}
	if !s.req.Proposal.IsNull() {
		row.Reason = s.req.Proposal.String()
	}
	var err error
	s.quiet, err = audit.Insert(ctx, s.tx, row)
	return err
}

// noteWrite counts the write for processes that read from other database servers. The count is not
// needed if NobodyElsewhere is true at the generation of the engine. The insert of the audit row
// makes sure that this is still the current generation.
func (s *Session) noteWrite(ctx context.Context) error {
	if s.e.NobodyElsewhere && s.e.generation != 0 {
		return nil
	}
	everybody := s.modelChanged || s.rolesChanged || s.scopesHidden || s.loginsChanged
	return catalog.NoteWrite(ctx, s.tx, s.who.Member, everybody)
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

// Answer does the same as Write for a request that has an answer. If the request has an
// idempotency key or a claim, the answer is stored in the same transaction. A repeated request
// gets the stored answer.
// Errors: those of Write; fault.Conflict when the key was used for another body, or the first
// request is still running; lease.ErrLost when the claim has ended.
func (e *Engine) Answer(
	ctx context.Context, who auth.Actor, req Request, once requests.Identity, fn func(*Session) ([]byte, error),
) ([]byte, error) {
	return e.AnswerAfter(ctx, who, req, once, func() error { return nil }, fn)
}

// AnswerAfter does the same as Answer. Before the transaction of a request that is not a repetition, it
// calls prepare.
// Errors: those of Answer and of prepare.
func (e *Engine) AnswerAfter(
	ctx context.Context, who auth.Actor, req Request, once requests.Identity, prepare func() error, fn func(*Session) ([]byte, error),
) ([]byte, error) {
	if err := who.Bounds.Write(req.Way); err != nil && !req.Trial {
		return nil, err
	}
	entry, answer, err := e.Requests.Begin(ctx, who.Member, req.ID, once)
	if entry == nil {
		return answer, err
	}
	defer entry.End()
	if err := prepare(); err != nil {
		return nil, err
	}

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
