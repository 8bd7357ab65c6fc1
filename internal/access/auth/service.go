package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"runtime"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// maxAge is how long data from the database is used before it is read again. maxAge and
// watchEvery together are less than a second: a loss of rights takes effect within that time.
const maxAge = 500 * time.Millisecond

// Limits of caches and tables, in entries.
const (
	maxVerified    = 10_000
	maxCredentials = 10_000
	maxActors      = 10_000
	maxBelow       = 1_000  // lists of projects in the bounds of tokens
	maxThrottled   = 10_000 // pairs in each throttle
	maxDelayed     = 500    // logins that wait for their delay in each throttle
)

// reader reads from the database, with SQL or with gorm.
type reader interface {
	db.Querier
	Gorm(ctx context.Context) *gorm.DB
}

// Service verifies credentials and resolves actors. It is created by New, and is safe for
// concurrent use.
type Service struct {
	db    reader // for reads
	store *db.DB // for writes
	roles roles

	mayLogin string // SQL condition, see mayLogin
	audit    *trail.Log
	m        *metrics
	now      func() time.Time

	key   []byte // key of the hashes that keyed returns; each process has a new key
	cost  cost   // cost of the hashes of new passwords
	dummy string // hash that no password matches, for usernames with which nobody can log in

	slots           *hashSlots               // limits concurrent password hashes
	lastCheck       atomic.Int64             // duration of the last password check of a member, with its wait, in nanoseconds
	verifying       singleflight[key, Login] // key: hash of username, password, member and network
	verified        *cache[key, proof]
	credentials     *cache[string, credential]
	tokens          *cache[string, cachedToken]
	credentialReads singleflight[string, credential] // key: folded username
	tokenReads      batch[string, cachedToken]       // key: hash of the token
	actorReads      batch[int64, cachedActor]
	memberReads     singleflight[memberRead, cachedMembers]
	signedIn        *cache[signIn, struct{}] // sign-ins that are recorded in the audit trail
	usage           *usageRecorder           // stores the last uses of tokens
	actors          *cache[int64, cachedActor]

	// Numbers of writes by this process. If a number has changed, cached data that depends on
	// it is read again.
	hiddenChanges atomic.Int64 // writes that hid projects or showed them again
	roleChanges   atomic.Int64 // writes that changed members, roles or the project tree
	adminChanges  atomic.Int64 // role changes after which a System Admin may have lost that role
	loginChanges  atomic.Int64 // writes that may have ended tokens

	members *cache[string, cachedMembers] // visible members; key: see keyOfScopes

	below      *cache[string, belowScopes] // see scopesBelow; key: see keyOfScopes
	belowReads singleflight[memberRead, belowScopes]

	hiddenNow atomic.Pointer[cachedHidden]

	memberThrottle  *throttle // logins of members
	unknownThrottle *throttle // logins with unknown usernames
	proofThrottle   *throttle // old passwords, for Prove
}

// Options are the optional parameters of New.
type Options struct {
	Audit   *trail.Log       // records sign-ins and refused sign-ins; may be nil
	Metrics Registerer       // may be nil
	Now     func() time.Time // nil: time.Now
}

// New returns a Service. It fails if the model lacks the types and attributes of members and
// roles.
func New(d *db.DB, m *meta.Model, o Options) (*Service, error) {
	r, err := rolesOf(m)
	if err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	secret := make([]byte, sha256.Size)
	_, _ = rand.Read(secret)
	began := time.Now()
	dummy := hashPassword(newToken(), standard)
	took := time.Since(began)
	s := &Service{
		db: d, store: d, roles: r, mayLogin: mayLogin(d.Dialect, r.disabledKey),
		audit: o.Audit, m: newMetrics(o.Metrics), now: o.Now,
		key: secret, cost: standard, dummy: dummy,
		slots:       newHashSlots(max(1, runtime.GOMAXPROCS(0)/2), o.Now),
		verified:    newCache[key, proof](maxVerified, 0, o.Now),
		credentials: newCache[string, credential](maxCredentials, maxAge, o.Now),
		tokens:      newCache[string, cachedToken](maxCredentials, maxAge, o.Now),
		signedIn:    newCache[signIn, struct{}](maxSignIns, signInEvery, o.Now),
		usage:       newUsageRecorder(d, o.Now),
		actors:      newCache[int64, cachedActor](maxActors, maxAge, o.Now),
		members:     newCache[string, cachedMembers](maxActors, maxAge, o.Now),
		below:       newCache[string, belowScopes](maxBelow, maxAge, o.Now),

		memberThrottle:  newThrottle(pairBackoff, maxThrottled, maxDelayed, o.Now),
		unknownThrottle: newThrottle(pairBackoff, maxThrottled, maxDelayed, o.Now),
		proofThrottle:   newThrottle(pairBackoff, maxThrottled, maxDelayed, o.Now),
	}
	s.tokenReads.read, s.actorReads.read = s.readTokens, s.readActors
	s.lastCheck.Store(int64(took))
	return s, nil
}

// Seal returns the hash of a password, for Set. It waits for a hash slot, and then needs tens of
// milliseconds and 19 MiB. Therefore it must not be called while locks are held.
// Errors: fault.Invalid for a password that is empty or too long; fault.Transient if ctx ends.
func (s *Service) Seal(ctx context.Context, password string) (string, error) {
	if err := checkPassword(password); err != nil {
		return "", err
	}
	var hash string
	err := s.inSlot(ctx, func() { hash = hashPassword(password, s.cost) })
	return hash, err
}

// Digest returns a hash, 64 characters long, of a text that contains passwords. The same text and
// salt give the same hash. Digest is as slow as the hash of a password.
// Errors: fault.Transient if ctx ends.
func (s *Service) Digest(ctx context.Context, text, salt string) (string, error) {
	var hash []byte
	sum := sha256.Sum256([]byte(salt))
	err := s.inSlot(ctx, func() { hash = s.cost.key(text, sum[:], hashBytes) })
	return hex.EncodeToString(hash), err
}

// inSlot runs hash in a hash slot. It is for hashes that are not part of a login.
func (s *Service) inSlot(ctx context.Context, hash func()) error {
	w := &waiter{queue: hashQueue}
	if err := s.slots.acquire(ctx, w); err != nil {
		return err
	}
	defer s.slots.release(w)
	hash()
	return nil
}

// Set stores the username and the sealed password of a member in the transaction of the caller.
// nil: the value does not change. An empty username deletes the credential. Within a second of
// the commit, all processes accept only the new values.
// Errors: fault.Invalid; fault.Conflict if another member has the username.
func (s *Service) Set(ctx context.Context, tx *db.Tx, member int64, username, sealed *string) error {
	if username != nil {
		if err := checkUsername(*username); err != nil {
			return err
		}
		if *username == "" && sealed == nil {
			if err := dropCredential(ctx, tx, member); err != nil {
				return err
			}
			return trail.Record(ctx, tx, loginChanged(member, username, nil))
		}
		if *username == "" {
			return fault.Invalidf(fault.NoPlace, "Violation'Required'Member.Username")
		}
	}
	if username == nil && sealed == nil {
		return nil
	}
	if err := storeCredential(ctx, tx, member, username, sealed); err != nil {
		return err
	}
	return trail.Record(ctx, tx, loginChanged(member, username, sealed))
}

// HaveLogin reports whether at least one of the members has a username and a password.
func (s *Service) HaveLogin(ctx context.Context, tx *db.Tx, members []int64) (bool, error) {
	for in, args := range db.InChunks(members) {
		n, err := db.Column[int64](ctx, tx,
			`SELECT COUNT(*) FROM credential WHERE password_hash IS NOT NULL AND member_id IN `+in, args...)
		if err != nil || n[0] > 0 {
			return err == nil, err
		}
	}
	return false, nil
}

// HasPassword reports whether a password is the password of a member.
func (s *Service) HasPassword(ctx context.Context, member int64, password string) (bool, error) {
	hash, err := readHash(s.db.Gorm(ctx), member)
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return matches(hash, password), nil
}
