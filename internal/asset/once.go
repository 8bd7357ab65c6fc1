package asset

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
)

// Once names a request that is to be carried out once, however often it is sent.
type Once struct {
	Key  string // chosen by the client, one per actor; empty: every time anew
	Hash string // of the body, 64 hexadecimal digits: another body under the same key is refused
}

// ErrUndo is what the function of Answer returns beside an answer that stands
// although the request is rolled back.
var ErrUndo = errors.New("a command of an atomic request failed")

// keepAnswers is how long the answer to a key is kept unless the engine is told
// otherwise.
const keepAnswers = 24 * time.Hour

// maxKey is how many bytes a key has at most.
const maxKey = 255

// doneStatus marks a row of bulk_request whose answer is there.
const doneStatus = 1

// running are the keys that this process is working under.
type running struct {
	mu   sync.Mutex
	keys map[keyOf]bool
}

type keyOf struct {
	actor int64
	key   string
}

func (r *running) begin(k keyOf) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.keys[k] {
		return false
	}
	if r.keys == nil {
		r.keys = map[keyOf]bool{}
	}
	r.keys[k] = true
	return true
}

func (r *running) end(k keyOf) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.keys, k)
}

// Answer is Write for a request that has an answer. Under a key the answer is
// kept in the same transaction, and whoever sends the request again gets it.
// Errors: as Write; fault.Conflict when the key was used for another body, or
// the first request is still running.
func (e *Engine) Answer(ctx context.Context, who auth.Actor, req Request, once Once, fn func(*Session) ([]byte, error)) ([]byte, error) {
	if once.Key == "" {
		return e.answer(ctx, who, req, fn)
	}
	if len(once.Key) > maxKey {
		return nil, fault.Invalidf(fault.NoPlace, "Idempotency-Key has more than %d bytes", maxKey)
	}
	k := keyOf{who.Member, once.Key}
	if !e.running.begin(k) {
		return nil, fault.Conflictf(nil, "The first request with this Idempotency-Key is still running")
	}
	defer e.running.end(k)
	if kept, err := e.kept(ctx, k, once); fault.KindOf(err) != fault.NotFound {
		return kept, err
	}
	var undone bool
	answer, err := e.answer(ctx, who, req, func(s *Session) ([]byte, error) {
		if err := s.keep(ctx, req.ID, once, nil); err != nil {
			return nil, err
		}
		answer, err := fn(s)
		if undone = errors.Is(err, ErrUndo); err != nil {
			return answer, err
		}
		_, err = s.tx.Exec(ctx, `UPDATE bulk_request SET answer = ? WHERE id = ?`, answer, req.ID)
		return answer, err
	})
	switch {
	case errors.Is(err, errTaken): // by another process, meanwhile
		return e.kept(ctx, k, once)
	case err == nil && undone:
		err = e.db.Write(ctx, func(tx *db.Tx) error {
			return (&Session{e: e, tx: tx, who: who}).keep(ctx, req.ID, once, answer)
		})
	}
	return answer, err
}

func (e *Engine) answer(ctx context.Context, who auth.Actor, req Request, fn func(*Session) ([]byte, error)) ([]byte, error) {
	var answer []byte
	err := e.Write(ctx, who, req, func(s *Session) (err error) {
		answer, err = fn(s)
		return err
	})
	if errors.Is(err, ErrUndo) {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// errTaken says that somebody else has written the key first.
var errTaken = errors.New("the key is taken")

// keep writes the row of a key. An old one that has expired makes room.
func (s *Session) keep(ctx context.Context, id string, once Once, answer []byte) error {
	now := time.Now()
	if _, err := s.tx.Exec(ctx, `DELETE FROM bulk_request WHERE actor_id = ? AND idem_key = ? AND expires_at <= ?`,
		s.who.Member, once.Key, now.UnixMicro()); err != nil {
		return fmt.Errorf("forget an old key: %w", err)
	}
	_, err := s.tx.Exec(ctx, `INSERT INTO bulk_request (id, actor_id, idem_key, body_hash, status, answer, created_at, expires_at)`+
		` VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		id, s.who.Member, once.Key, once.Hash, doneStatus, answer, now.UnixMicro(), now.Add(s.e.KeepAnswers).UnixMicro())
	if fault.KindOf(err) == fault.Conflict {
		return errTaken
	}
	return err
}

// kept returns the answer given under a key. Errors: fault.NotFound when none
// was; fault.Conflict when it belongs to another body.
func (e *Engine) kept(ctx context.Context, k keyOf, once Once) ([]byte, error) {
	var hash string
	var answer []byte
	err := e.db.QueryRow(ctx, `SELECT body_hash, answer FROM bulk_request WHERE actor_id = ? AND idem_key = ? AND expires_at > ?`,
		k.actor, k.key, time.Now().UnixMicro()).Scan(&hash, &answer)
	if err != nil {
		return nil, err
	}
	if hash != once.Hash {
		return nil, fault.Conflictf(nil, "The Idempotency-Key was used for another request")
	}
	return answer, nil
}

// Forget deletes the answers whose time is over; the scheduler calls it.
func Forget(ctx context.Context, d *db.DB) error {
	_, err := d.Exec(ctx, `DELETE FROM bulk_request WHERE expires_at <= ?`, time.Now().UnixMicro())
	return err
}
