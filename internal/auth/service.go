package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/meta"
)

// fresh is how long what was read of the database may be used.
const fresh = time.Second

// Bounds of what is remembered, in entries.
const (
	maxVerified    = 10_000
	maxCredentials = 10_000
	maxActors      = 10_000
	maxSlowed      = 10_000
)

// Service proves credentials and resolves actors. It is safe for concurrent
// use; make it with New.
type Service struct {
	db    *db.DB
	roles roles

	mayLogin string // SQL condition, see mayLogin
	m        *metrics
	now      func() time.Time

	key   []byte // of the hash under which verified passwords are remembered; new in every process
	dummy string // what the password of an unknown user is compared with

	turns    *semaphore.Weighted // password checks at a time: each takes 19 MiB
	flights  singleflight.Group
	verified *recent[[sha256.Size]byte, proof]
	creds    *recent[string, credential]
	tokens   *recent[string, int64]
	actors   *recent[int64, resolved]
	written  atomic.Int64 // writes of this process
	hid      atomic.Int64 // of those, the ones that hid projects or showed them

	hiddenNow atomic.Pointer[knownHidden]

	byUser *slowdown
	byAddr *slowdown
}

// Options are the parts of a Service that have a default.
type Options struct {
	Metrics Registerer       // may be nil
	Now     func() time.Time // nil: time.Now
}

// New builds the Service. It fails when the model has no members or roles.
func New(d *db.DB, m *meta.Model, o Options) (*Service, error) {
	r, err := rolesOf(m)
	if err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key)
	return &Service{
		db: d, roles: r, mayLogin: mayLogin(d.Dialect, r.disabledKey), m: newMetrics(o.Metrics), now: o.Now,
		key: key, dummy: hashPassword(newToken(), standard),
		turns:    semaphore.NewWeighted(int64(max(2, runtime.GOMAXPROCS(0)))),
		verified: newRecent[[sha256.Size]byte, proof](maxVerified, 0, o.Now),
		creds:    newRecent[string, credential](maxCredentials, fresh, o.Now),
		tokens:   newRecent[string, int64](maxCredentials, fresh, o.Now),
		actors:   newRecent[int64, resolved](maxActors, fresh, o.Now),
		byUser:   newSlowdown(userPace, maxSlowed, o.Now),
		byAddr:   newSlowdown(addressPace, maxSlowed, o.Now),
	}, nil
}

// Seal makes what is stored of a password. It takes tens of milliseconds and
// 19 MiB, so it is done before anything is locked, as many at a time as logins.
// Errors: fault.Invalid for one that is empty or too long; fault.Transient when
// ctx ends.
func (s *Service) Seal(ctx context.Context, password string) (string, error) {
	if err := checkPassword(password); err != nil {
		return "", err
	}
	if err := s.turns.Acquire(ctx, 1); err != nil {
		return "", fault.Transientf(err, "too many passwords at once")
	}
	defer s.turns.Release(1)
	return hashPassword(password, standard), nil
}

// Set stores the username and the sealed password of a member, each only when
// not nil, inside the caller's transaction. An empty username ends the login.
// Every process accepts the new ones, and no longer the old, within a second of
// the commit.
// Errors: fault.Invalid, fault.Conflict when another member has the username.
func (s *Service) Set(ctx context.Context, tx *db.Tx, member int64, username, sealed *string) error {
	if username != nil {
		if err := checkUsername(*username); err != nil {
			return err
		}
		if *username == "" && sealed == nil {
			return dropCredential(ctx, tx, member)
		}
		if *username == "" {
			return fault.Invalidf(fault.NoPlace, "Violation'Required'Member.Username")
		}
	}
	if username == nil && sealed == nil {
		return nil
	}
	return storeCredential(ctx, tx, member, username, sealed)
}

// HasPassword reports whether the member's stored credential is this password.
func (s *Service) HasPassword(ctx context.Context, member int64, password string) (bool, error) {
	hash, err := readHash(ctx, s.db, member)
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return matches(hash, password), nil
}

func (s *Service) refuse(scheme, outcome string, err error) error {
	s.m.logins.WithLabelValues(scheme, outcome).Inc()
	return err
}

// Ensure gives a member a login unless it has a password already.
func (s *Service) Ensure(ctx context.Context, member int64, username, password string) error {
	sealed, err := s.Seal(ctx, password)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, func(tx *db.Tx) error {
		hash, err := readHash(ctx, tx, member)
		if err != nil && fault.KindOf(err) != fault.NotFound {
			return err
		}
		if hash != "" {
			return nil
		}
		return s.Set(ctx, tx, member, &username, &sealed)
	})
}
