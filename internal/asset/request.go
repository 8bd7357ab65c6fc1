package asset

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/folding"
	"github.com/alds-dev/alds/internal/requests"
)

// Write runs fn in the transaction of one request and writes its audit. fn may
// run several times, each time from the start, when the database asks for a
// retry. When the connection is lost during commit, the audit shows whether the
// write happened.
// Errors: those of fn; fault.Transient when the database is unavailable.
func (e *Engine) Write(ctx context.Context, who auth.Actor, req Request, fn func(*Session) error) error {
	var s *Session
	err := e.db.Write(ctx, func(tx *db.Tx) error {
		s = &Session{e: e, tx: tx, who: who, req: req, aliases: map[string]*Handle{}}
		var err error
		if s.audit, err = e.audits.next(ctx, e.db, tx, 1); err != nil {
			return err
		}
		if err := fn(s); err != nil {
			return err
		}
		if err := s.checkAdministrators(ctx); err != nil {
			return err
		}
		return s.writeAudit(ctx)
	})
	if errors.Is(err, db.ErrUnknownOutcome) {
		err = e.findOutcome(ctx, req.ID, err)
	}
	if err == nil && s.rolesChanged && e.OnRolesChanged != nil {
		e.OnRolesChanged()
	}
	if err == nil && s.scopesHidden && e.OnScopesHidden != nil {
		e.OnScopesHidden()
	}
	if err == nil && s.last > 0 && e.listener != nil {
		e.listener.Committed(s.audit)
	}
	return err
}

// outcomeTries and outcomePause bound the wait for a database that went away
// between our commit and its answer.
const (
	outcomeTries = 20
	outcomePause = 250 * time.Millisecond
)

// findOutcome finds out whether a commit without an answer happened. The locking
// read waits for the lost transaction if the server has not given it up yet.
func (e *Engine) findOutcome(ctx context.Context, request string, lost error) error {
	for range outcomeTries {
		var id int64
		err := e.db.Small(ctx, func(tx *db.Tx) error {
			return tx.QueryRow(ctx, `SELECT id FROM audit WHERE request_id = ?`+e.db.Dialect.ForShare, request).Scan(&id)
		})
		switch fault.KindOf(err) {
		case fault.NotFound:
			return fault.Transientf(lost, "the connection to the database was lost, and nothing was changed")
		case fault.Transient:
		default:
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

// writeAudit writes the audit row, whose request id refuses a second request with the
// same one. A request that changed nothing needs no fan-out. The shared lock on
// the generation orders this write against every change of a webhook
// subscription.
func (s *Session) writeAudit(ctx context.Context) error {
	var comment, folded any
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
	generation, fanState := `value`, int64(0)
	from := ` FROM sequence WHERE name = 'webhook'` + s.e.db.Dialect.ForShare
	if s.last == 0 {
		generation, fanState, from = `0`, 1, ``
	}
	_, err := s.tx.Exec(ctx, `INSERT INTO audit (id, request_id, actor_id, at, comment, folded, first_moment, last_moment, generation, fan_state, imported)`+
		` SELECT ?, ?, ?, `+s.e.db.Dialect.NowMicros+`, ?, ?, ?, ?, `+generation+`, ?, ?`+from,
		s.audit, s.req.ID, s.who.Member, comment, folded, s.first, s.last, fanState, imported)
	if err != nil {
		return fmt.Errorf("write the audit: %w", err)
	}
	return nil
}

// ErrRollback is returned by the function of Answer with an answer that is stored
// although the request is rolled back.
var ErrRollback = errors.New("a command of an atomic request failed")

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
		err = e.db.Write(ctx, func(tx *db.Tx) error {
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
