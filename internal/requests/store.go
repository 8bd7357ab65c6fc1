package requests

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
)

// defaultRetention is how long an answer is stored unless Store.Retention is set.
const defaultRetention = 24 * time.Hour

// maxKey is the most bytes of an idempotency key.
const maxKey = 255

// Values of bulk_request.status.
const (
	waiting  = 0
	answered = 1 // the answer column holds the answer
	refused  = 2 // the answer column holds the fault, see encodeFault
)

// Store holds the requests of one database. It is safe for concurrent use.
type Store struct {
	Retention time.Duration // how long an answer is stored; New sets 24 h

	db       *db.DB
	mu       sync.Mutex
	inFlight map[memberKey]bool // in this process
}

// memberKey is the idempotency key of a member.
type memberKey struct {
	member int64
	key    string
}

// New returns the store of the requests in d.
func New(d *db.DB) *Store {
	return &Store{Retention: defaultRetention, db: d, inFlight: map[memberKey]bool{}}
}

// Identity says which request is the same one, sent or begun again.
type Identity struct {
	Key   string // Idempotency-Key, unique per member; empty for none
	Hash  string // of the body, 64 hexadecimal digits: another body under the same key is refused
	Claim *Claim // of a request that was accepted earlier; nil for one that came just now
}

// State is a stored request.
type State struct {
	ID         string
	Member     int64
	Created    time.Time
	Commands   int    // of an accepted request
	Done       bool   // Answer or Err is set
	Processing bool   // not done, and a worker has the lease
	Answer     []byte // when done
	Err        error  // why the whole request was refused, a fault

	hash string
}

const stateColumns = `id, actor_id, created_at, commands, status, lease, answer, body_hash`

// Find returns a request by its id. An id that is no UUID is not looked for:
// servers refuse to compare characters outside ASCII with the column.
// Errors: fault.NotFound when there is none, or it has expired.
func (s *Store) Find(ctx context.Context, id string) (State, error) {
	if uuid.Validate(id) != nil {
		return State{}, fault.NotFoundf("not found")
	}
	return s.find(ctx, `id = ?`, id)
}

// findByKey returns the request that has a member's key. Errors: also
// fault.Conflict when it has another body.
func (s *Store) findByKey(ctx context.Context, member int64, id Identity) (State, error) {
	found, err := s.find(ctx, `actor_id = ? AND idem_key = ?`, member, id.Key)
	if err == nil && found.hash != id.Hash {
		return State{}, fault.Conflictf(nil, "The Idempotency-Key was used for another request")
	}
	return found, err
}

func (s *Store) find(ctx context.Context, where string, args ...any) (State, error) {
	var found State
	var created, lease, now int64
	var status int
	var answer []byte
	err := s.db.QueryRow(ctx, `SELECT `+stateColumns+`, `+s.db.Dialect.NowMicros+` FROM bulk_request WHERE `+where+
		` AND (status = 0 OR expires_at > ?)`, append(args, time.Now().UnixMicro())...).
		Scan(&found.ID, &found.Member, &created, &found.Commands, &status, &lease, &answer, &found.hash, &now)
	if err != nil {
		return State{}, err
	}
	found.Created, found.Done, found.Processing = time.UnixMicro(created), status != waiting, status == waiting && lease > now
	if answer, err = decompress(answer); err != nil {
		return State{}, fmt.Errorf("answer of request %s: %w", found.ID, err)
	}
	if status == refused {
		found.Err = decodeFault(answer)
	} else {
		found.Answer = answer
	}
	return found, nil
}

// reserve refuses other requests of this process under the same key until
// release is called.
func (s *Store) reserve(k memberKey) (release func(), err error) {
	if len(k.key) > maxKey {
		return nil, fault.Invalidf(fault.NoPlace, "Idempotency-Key has more than %d bytes", maxKey)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inFlight[k] {
		return nil, stillRunning()
	}
	s.inFlight[k] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.inFlight, k)
	}, nil
}

func stillRunning() error {
	return fault.Conflictf(nil, "The first request with this Idempotency-Key is still running")
}

// DeleteExpired deletes the finished requests whose retention is over; the
// scheduler calls it. A request that waits never expires.
func DeleteExpired(ctx context.Context, d *db.DB) error {
	_, err := d.Exec(ctx, `DELETE FROM bulk_request WHERE expires_at <= ? AND status <> 0`, time.Now().UnixMicro())
	return err
}
