package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
)

// ErrTaken says that another process has written the key first; First then
// returns what it answered.
var ErrTaken = errors.New("the key is taken")

// Entry is a request that is being carried out.
type Entry struct {
	book    *Book
	member  int64
	id      string
	once    Once
	release func()
}

// Enter begins a request, or returns the answer that it had the first time.
// Exactly one of the three results says something: the entry, which is to be
// left, the answer, or the error.
// Errors: fault.Conflict when the key was used for another body, or the first
// request is still running; what the first request was refused with.
func (b *Book) Enter(ctx context.Context, member int64, id string, once Once) (*Entry, []byte, error) {
	e := &Entry{book: b, member: member, id: id, once: once, release: func() {}}
	if once.Key == "" || once.Claim != nil {
		return e, nil, nil
	}
	var err error
	if e.release, err = b.hold(holder{member, once.Key}); err != nil {
		return nil, nil, err
	}
	s, err := b.under(ctx, member, once)
	if fault.KindOf(err) == fault.NotFound {
		return e, nil, nil
	}
	e.Leave()
	answer, err := s.settled(err)
	return nil, answer, err
}

// First returns what the first request under the key answered.
// Errors: what it was refused with; fault.Conflict when it had another body or
// has no answer yet; fault.NotFound when there was none.
func (e *Entry) First(ctx context.Context) ([]byte, error) {
	s, err := e.book.under(ctx, e.member, e.once)
	return s.settled(err)
}

// settled returns how the entry ended, where err is that of finding it.
func (s State) settled(err error) ([]byte, error) {
	switch {
	case err != nil:
		return nil, err
	case !s.Done:
		return nil, stillRunning()
	}
	return s.Answer, s.Err
}

// Leave lets others use the key. It is called once the transaction has ended.
func (e *Entry) Leave() { e.release() }

// Begin is the entry's part at the start of the transaction.
// Errors: ErrTaken.
func (e *Entry) Begin(ctx context.Context, tx *db.Tx) error {
	if e.once.Key == "" || e.once.Claim != nil {
		return nil
	}
	err := e.book.insert(ctx, tx, row{id: e.id, member: e.member, once: e.once, status: answered})
	if fault.KindOf(err) == fault.Conflict {
		return ErrTaken
	}
	return err
}

// Keep writes the answer, as the last statement of the transaction.
// Errors: ErrLost when the claim has ended meanwhile.
func (e *Entry) Keep(ctx context.Context, tx *db.Tx, answer []byte) error {
	if e.once.Claim != nil {
		return e.once.Claim.keep(ctx, tx, answered, answer)
	}
	if e.once.Key == "" {
		return nil
	}
	packed, err := pack(answer)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE bulk_request SET answer = ? WHERE id = ?`, packed, e.id)
	return err
}

// row is what is written of a new entry.
type row struct {
	id       string
	member   int64
	once     Once
	status   int
	request  []byte
	commands int
}

// insert writes an entry. An old one under the same key that is over makes room.
// Errors: fault.Conflict when the key is taken.
func (b *Book) insert(ctx context.Context, tx *db.Tx, r row) error {
	now := time.Now()
	var key any
	if r.once.Key != "" {
		key = r.once.Key
		if err := makeRoom(ctx, tx, r, now); err != nil {
			return fmt.Errorf("forget an old key: %w", err)
		}
	}
	_, err := tx.Exec(ctx, `INSERT INTO bulk_request (id, actor_id, idem_key, body_hash, status, request, commands, created_at, expires_at)`+
		` VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.id, r.member, key, r.once.Hash, r.status, r.request, r.commands, now.UnixMicro(), now.Add(b.Keep).UnixMicro())
	return err
}

// makeRoom deletes an entry that is over. It is looked for without a lock and
// deleted by its id: a delete by the key may look at rows that others are
// writing under keys of their own, and would wait for them.
func makeRoom(ctx context.Context, tx *db.Tx, r row, now time.Time) error {
	var id string
	err := tx.QueryRow(ctx, `SELECT id FROM bulk_request WHERE actor_id = ? AND idem_key = ? AND expires_at <= ? AND status <> 0`,
		r.member, r.once.Key, now.UnixMicro()).Scan(&id)
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	if err == nil {
		_, err = tx.Exec(ctx, `DELETE FROM bulk_request WHERE id = ?`, id)
	}
	return err
}
