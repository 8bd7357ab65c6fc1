package ledger

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
)

// keepAnswers is how long an answer is kept unless the book is told otherwise.
const keepAnswers = 24 * time.Hour

// maxKey is how many bytes a key has at most.
const maxKey = 255

// What bulk_request.status says.
const (
	waiting  = 0
	answered = 1 // answer is the answer
	refused  = 2 // answer is the fault, see packFault
)

// Book is the ledger of one database. It is safe for concurrent use.
type Book struct {
	Keep time.Duration // how long an answer is kept; 24 h to begin with

	db   *db.DB
	mu   sync.Mutex
	held map[holder]bool
}

// holder is a key that this process is working under.
type holder struct {
	member int64
	key    string
}

// New returns the ledger in d.
func New(d *db.DB) *Book {
	return &Book{Keep: keepAnswers, db: d, held: map[holder]bool{}}
}

// Once names a request that is to be carried out once, however often it is sent.
type Once struct {
	Key   string // chosen by the client, one per member; empty: every time anew
	Hash  string // of the body, 64 hexadecimal digits: another body under the same key is refused
	Claim *Claim // the request was accepted earlier and this is its turn; nil for one that came just now
}

// State is an entry as it stands.
type State struct {
	ID         string
	Member     int64
	Created    time.Time
	Commands   int    // of an accepted request
	Done       bool   // Answer or Err is there
	Processing bool   // not done, and somebody is at work
	Answer     []byte // the answer, when done
	Err        error  // why the whole request was refused, a fault

	hash string
}

const stateColumns = `id, actor_id, created_at, commands, status, lease, answer, body_hash`

// Find returns the entry of a request. What has not the form of an id names
// none, and is not asked for: servers refuse to compare other characters with a
// column of ASCII. Errors: fault.NotFound when there is none, or its time is over.
func (b *Book) Find(ctx context.Context, id string) (State, error) {
	if uuid.Validate(id) != nil {
		return State{}, fault.NotFoundf("not found")
	}
	return b.find(ctx, `id = ?`, id)
}

// under returns the entry of a key. Errors: also fault.Conflict when it belongs
// to another body.
func (b *Book) under(ctx context.Context, member int64, once Once) (State, error) {
	s, err := b.find(ctx, `actor_id = ? AND idem_key = ?`, member, once.Key)
	if err == nil && s.hash != once.Hash {
		return State{}, fault.Conflictf(nil, "The Idempotency-Key was used for another request")
	}
	return s, err
}

func (b *Book) find(ctx context.Context, where string, args ...any) (State, error) {
	var s State
	var created, lease, now int64
	var status int
	var answer []byte
	err := b.db.QueryRow(ctx, `SELECT `+stateColumns+`, `+b.db.Dialect.NowMicros+` FROM bulk_request WHERE `+where+
		` AND (status = 0 OR expires_at > ?)`, append(args, time.Now().UnixMicro())...).
		Scan(&s.ID, &s.Member, &created, &s.Commands, &status, &lease, &answer, &s.hash, &now)
	if err != nil {
		return State{}, err
	}
	s.Created, s.Done, s.Processing = time.UnixMicro(created), status != waiting, status == waiting && lease > now
	if answer, err = unpack(answer); err != nil {
		return State{}, fmt.Errorf("answer of request %s: %w", s.ID, err)
	}
	if status == refused {
		s.Err = unpackFault(answer)
	} else {
		s.Answer = answer
	}
	return s, nil
}

// hold keeps other requests of this process from working under the same key.
func (b *Book) hold(h holder) (release func(), err error) {
	if len(h.key) > maxKey {
		return nil, fault.Invalidf(fault.NoPlace, "Idempotency-Key has more than %d bytes", maxKey)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held[h] {
		return nil, stillRunning()
	}
	b.held[h] = true
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.held, h)
	}, nil
}

func stillRunning() error {
	return fault.Conflictf(nil, "The first request with this Idempotency-Key is still running")
}

// Forget deletes the entries whose time is over; the scheduler calls it. What
// waits is never over.
func Forget(ctx context.Context, d *db.DB) error {
	_, err := d.Exec(ctx, `DELETE FROM bulk_request WHERE expires_at <= ? AND status <> 0`, time.Now().UnixMicro())
	return err
}
