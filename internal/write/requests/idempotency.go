package requests

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
)

// ErrDuplicate means that another process has written a request with the same key first.
// Execution.First returns its answer.
var ErrDuplicate = errors.New("another process has used the key")

// Execution is a request that is being executed.
type Execution struct {
	store    *Store
	member   int64
	id       string
	identity Identity
	release  func()
}

// Begin starts the execution of a request, or returns the answer of an earlier one with the
// same key. Exactly one of the three results is set: the execution, which the caller ends, the
// answer, or the error.
// Errors: fault.Conflict if the key was used for another body, or if the first request is
// still running; the error that the first request was refused with.
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

// hasKey reports whether the request is stored with its own key. A request with a claim is
// stored already.
func (e *Execution) hasKey() bool { return e.identity.Key != "" && e.identity.Claim == nil }

// First returns the answer of the first request with the key.
// Errors: the error it was refused with; fault.Conflict if it had another body or has no
// answer yet; fault.NotFound if there was none.
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

// End allows other requests with the key. It is called after the transaction has ended.
func (e *Execution) End() { e.release() }

// Insert stores the request, as the first statement of the transaction.
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

// StoreAnswer stores the answer, as the last statement of the transaction.
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

// insert writes the row of a member's new request, and deletes an expired one with the same
// key.
// Errors: fault.Conflict if the key is in use.
func (s *Store) insert(tx *db.Tx, member int64, identity Identity, row *requestRow) error {
	now := time.Now()
	row.ActorID, row.BodyHash = member, identity.Hash
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
// deletes by id. A delete by key could lock rows that others are writing with their own keys.
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
