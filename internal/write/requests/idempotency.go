package requests

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
)

// ErrDuplicate means that another process was the first to store a request with the same key.
// Execution.First returns the answer of that request.
var ErrDuplicate = errors.New("another process has used the key")

// Execution is a request that is being executed.
type Execution struct {
	store    *Store
	member   int64
	id       string
	identity Identity
	release  func()
}

// Begin starts the execution of a request, or returns the answer of an earlier request with the
// same key. Exactly one of the three results is set: the execution, the answer, or the error. The
// caller must end the execution with End.
// Errors: fault.Conflict if the key was used for another body, or if the first request is still
// running; the error with which the first request was refused.
func (s *Store) Begin(ctx context.Context, member int64, id string, identity Identity) (*Execution, []byte, error) {
	e := &Execution{store: s, member: member, id: id, identity: identity, release: func() {}}
	if !e.hasKey() {
		return e, nil, nil
	}
	var err error
	if e.release, err = s.reserve(memberKey{member, identity.Key}); err != nil {
		return nil, nil, err
	}
	answer, err := e.First(ctx)
	if fault.KindOf(err) == fault.NotFound {
		return e, nil, nil
	}
	e.End()
	return nil, answer, err
}

// hasKey reports whether Insert must store the request under its key. A request with a claim is
// already stored.
func (e *Execution) hasKey() bool { return e.identity.Key != "" && e.identity.Claim == nil }

// First returns the answer of the first request with the key.
// Errors: the error with which that request was refused; fault.Conflict if that request had
// another body or has no answer yet; fault.NotFound if no request has the key.
func (e *Execution) First(ctx context.Context) ([]byte, error) {
	s, err := e.store.findByKey(ctx, e.member, e.identity)
	switch {
	case err != nil:
		return nil, err
	case !s.Done:
		return nil, stillRunning()
	}
	return s.Answer, s.Err
}

// End allows other requests with the key. The caller calls End after the transaction has ended.
func (e *Execution) End() { e.release() }

// Insert stores the request if it has a key. It must be the first statement of the transaction.
// Errors: ErrDuplicate.
func (e *Execution) Insert(tx *db.Tx) error {
	if !e.hasKey() {
		return nil
	}
	err := e.store.insert(tx, e.member, e.identity, &requestRow{ID: e.id, Status: answered})
	if fault.KindOf(err) == fault.Conflict {
		return ErrDuplicate
	}
	return err
}

// StoreAnswer stores the answer. It must be the last statement of the transaction.
// Errors: lease.ErrLost if the claim has ended meanwhile.
func (e *Execution) StoreAnswer(ctx context.Context, tx *db.Tx, answer []byte) error {
	if e.identity.Claim != nil {
		return e.identity.Claim.finish(ctx, tx, answered, answer)
	}
	if e.identity.Key == "" {
		return nil
	}
	stored, err := compress(answer)
	if err != nil {
		return err
	}
	return tx.Gorm().Model(&requestRow{ID: e.id}).Update("answer", stored).Error
}

// insert writes the row of a member's new request, and deletes an expired request with the same
// key.
// Errors: fault.Conflict if the key is in use.
func (s *Store) insert(tx *db.Tx, member int64, identity Identity, row *requestRow) error {
	now := time.Now()
	row.ActorID, row.BodyHash = member, identity.Hash
	if identity.Token != "" {
		row.TokenID = &identity.Token
	}
	row.CreatedAt, row.ExpiresAt = now.UnixMicro(), now.Add(s.Retention).UnixMicro()
	if identity.Key != "" {
		row.IdemKey = &identity.Key
		if err := deleteExpiredKey(tx, member, identity.Key); err != nil {
			return fmt.Errorf("delete an expired key: %w", err)
		}
	}
	return tx.Gorm().Create(row).Error
}

// deleteExpiredKey deletes an expired request with a key. It reads the id without a lock and
// deletes by id. A delete by key could lock rows that other transactions write for other keys.
func deleteExpiredKey(tx *db.Tx, member int64, key string) error {
	var row requestRow
	err := tx.Gorm().Scopes(withKey(member, key), expired).Select("id").Take(&row).Error
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	if err == nil {
		err = tx.Gorm().Delete(&row).Error
	}
	return err
}
