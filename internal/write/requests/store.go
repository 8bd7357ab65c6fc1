package requests

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/lease"
)

// defaultRetention is how long an answer is stored, unless Store.Retention is set.
const defaultRetention = 24 * time.Hour

// maxKey is the maximum size of an idempotency key in bytes.
const maxKey = 255

// deletedRows is how many requests one transaction deletes at most.
const deletedRows = 500

// Values of bulk_request.status.
const (
	waiting  = 0
	answered = 1 // the answer column has the answer
	refused  = 2 // the answer column has the fault, see encodeFault
	planned  = 3 // a plan, which may be executed later; the answer column has its effect
)

// Store holds the requests of one database. It is safe for concurrent use.
type Store struct {
	Retention time.Duration // how long an answer is stored; New sets 24 h
	// Stopped returns the answer of a request that is refused after some of its steps. progress is what the last
	// step has stored with Continue.
	Stopped      func(id string, progress []byte, why error) []byte
	MaxPlansSize int // limit for the stored plans of a member together, in bytes; New sets 64 MiB

	db       *db.DB
	leases   *lease.Table[string]
	last     atomic.Int64 // the member of the last request that Claim claimed
	mu       sync.Mutex
	inFlight map[memberKey]bool // keys of requests that this process is accepting or executing; the value is true
}

// memberKey is the idempotency key of a member.
type memberKey struct {
	member int64
	key    string
}

// New returns the store of the requests in d.
func New(d *db.DB) *Store {
	leases := lease.New[string](d, "bulk_request", "", "status = 0")
	leases.Pause = pause
	return &Store{Retention: defaultRetention, MaxPlansSize: maxPlansSize, db: d, inFlight: map[memberKey]bool{}, leases: leases}
}

// Identity identifies a request, so that it is recognized when it is sent or started again.
type Identity struct {
	Key   string // Idempotency-Key, unique per member; empty for none
	Hash  string // hash of the body, 64 hexadecimal digits; another body with the same key is refused
	Token string // id of the access token with which the request was sent; empty: none
	Claim *Claim // claim of a request that was accepted earlier; nil for a new request
}

// State is a stored request.
type State struct {
	ID         string
	Member     int64
	Token      string // id of the access token with which it was sent; empty: none
	Created    time.Time
	Commands   int    // number of commands of an accepted request
	Executed   int    // how many of them the steps up to now have executed; see Claim.Continue
	Done       bool   // true if Answer or Err is set
	Processing bool   // true if the request is not done and a worker has the lease
	Answer     []byte // set if the request is done and was not refused
	Err        error  // the fault with which the whole request was refused
}

// Find returns a request by its id. If the answer is stored compressed, its uncompressed size is
// added to the memory reservation of ctx. An id that is not a UUID is never found, because database
// servers refuse to compare the column with characters outside ASCII.
// Errors: fault.NotFound if there is no such request, or if it has expired; those of memory.Hold.
func (s *Store) Find(ctx context.Context, id string) (State, error) {
	return s.findByID(ctx, id, "answer")
}

// Outcome does the same as Find, but leaves out the answer. If the request was refused, State.Err
// is still set.
func (s *Store) Outcome(ctx context.Context, id string) (State, error) {
	return s.findByID(ctx, id, fmt.Sprintf("CASE WHEN status = %d THEN answer END AS answer", refused))
}

func (s *Store) findByID(ctx context.Context, id, answer string) (State, error) {
	if uuid.Validate(id) != nil {
		return State{}, fault.NotFoundf("not found")
	}
	_, found, err := s.find(ctx, answer, func(g *gorm.DB) *gorm.DB { return g.Where("id = ?", id) })
	return found, err
}

// findByKey returns the request with a member's key.
// Errors: those of Find; fault.Conflict if the request has another body.
func (s *Store) findByKey(ctx context.Context, member int64, id Identity) (State, error) {
	row, found, err := s.find(ctx, "answer", withKey(member, id.Key))
	if err == nil && row.BodyHash != id.Hash {
		return State{}, fault.Conflictf(nil, "The Idempotency-Key was used for another request")
	}
	return found, err
}

// find returns a request that has not expired, without its body. answer is the SQL expression for
// the answer. The last parameter is a function that restricts the query to the request.
func (s *Store) find(ctx context.Context, answer string, which func(*gorm.DB) *gorm.DB) (row requestRow, found State, err error) {
	err = s.db.Gorm(ctx).Scopes(which).Where("status = ? OR body_hash <> ? AND expires_at > ?", waiting, isPlan, time.Now().UnixMicro()).
		Select("id, actor_id, token_id, created_at, commands, executed, status, " + answer + ", body_hash, status = 0 AND owner IS NOT NULL AND lease > " + s.db.Dialect.NowMicros + " AS processing").
		Take(&row).Error
	if err != nil {
		return row, State{}, err
	}
	if found, err = row.state(ctx); err != nil {
		return row, State{}, fmt.Errorf("answer of request %s: %w", row.ID, err)
	}
	return row, found, nil
}

// reserve marks a key as used by this process until release is called.
// Errors: fault.Conflict if the key is already marked; fault.Invalid if the key is too long.
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

// DeleteExpired deletes the finished requests whose retention is over. The scheduler calls it.
// A waiting request never expires.
func DeleteExpired(ctx context.Context, d *db.DB) error {
	for {
		ids, more, err := db.Removable(ctx, d, "SELECT id, COALESCE(LENGTH(answer), 0) FROM bulk_request WHERE expires_at <= ? AND status <> ? LIMIT ?",
			time.Now().UnixMicro(), waiting, deletedRows)
		if err == nil && len(ids) > 0 {
			err = d.Gorm(ctx).Delete(&requestRow{}, "id IN ?", ids).Error
		}
		if err != nil || len(ids) < deletedRows && !more {
			return err
		}
	}
}
