package asset

import (
	"context"
	"errors"

	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/requests"
)

// ErrRollback is what the function of Answer returns beside an answer that stands
// although the request is rolled back.
var ErrRollback = errors.New("a command of an atomic request failed")

// Answer is Write for a request that has an answer. Under a key, or a claim,
// the answer is kept in the same transaction, and whoever sends the request
// again gets it.
// Errors: as Write; fault.Conflict when the key was used for another body, or
// the first request is still running; requests.ErrLeaseLost when the claim has ended.
func (e *Engine) Answer(ctx context.Context, who auth.Actor, req Request, once requests.Identity, fn func(*Session) ([]byte, error)) ([]byte, error) {
	entry, kept, err := e.Requests.Begin(ctx, who.Member, req.ID, once)
	if entry == nil {
		return kept, err
	}
	defer entry.End()
	var answer []byte
	err = e.Write(ctx, who, req, func(s *Session) error {
		if err := entry.Insert(ctx, s.tx); err != nil {
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
			if err := entry.Insert(ctx, tx); err != nil {
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
