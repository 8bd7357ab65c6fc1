package asset

import (
	"context"
	"errors"

	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/ledger"
)

// ErrUndo is what the function of Answer returns beside an answer that stands
// although the request is rolled back.
var ErrUndo = errors.New("a command of an atomic request failed")

// Answer is Write for a request that has an answer. Under a key, or a claim,
// the answer is kept in the same transaction, and whoever sends the request
// again gets it.
// Errors: as Write; fault.Conflict when the key was used for another body, or
// the first request is still running; ledger.ErrLost when the claim has ended.
func (e *Engine) Answer(ctx context.Context, who auth.Actor, req Request, once ledger.Once, fn func(*Session) ([]byte, error)) ([]byte, error) {
	entry, kept, err := e.Ledger.Enter(ctx, who.Member, req.ID, once)
	if entry == nil {
		return kept, err
	}
	defer entry.Leave()
	var answer []byte
	err = e.Write(ctx, who, req, func(s *Session) error {
		if err := entry.Begin(ctx, s.tx); err != nil {
			return err
		}
		var err error
		if answer, err = fn(s); err != nil {
			return err
		}
		return entry.Keep(ctx, s.tx, answer)
	})
	if errors.Is(err, ErrUndo) {
		err = e.db.Write(ctx, func(tx *db.Tx) error {
			if err := entry.Begin(ctx, tx); err != nil {
				return err
			}
			return entry.Keep(ctx, tx, answer)
		})
	}
	if errors.Is(err, ledger.ErrTaken) { // by another process, meanwhile
		return entry.First(ctx)
	}
	if err != nil {
		return nil, err
	}
	return answer, nil
}
