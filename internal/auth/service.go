package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

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
	maxSlowed      = 10_000 // pairs of members, and as many of names that nobody has
	maxDelayed     = 500    // logins that wait because of wrong ones before, of each of the two
)

// reader is what logins read the database through.
type reader interface {
	db.Querier
	Gorm(ctx context.Context) *gorm.DB
	Read(ctx context.Context, fn func(*db.Tx) error) error
}

// Service proves credentials and resolves actors. It is safe for concurrent
// use; make it with New.
type Service struct {
	db    reader // of everything that logins and rights are read from
	store *db.DB // what is written goes here
	roles roles

	mayLogin string // SQL condition, see mayLogin
	m        *metrics
	now      func() time.Time

	key   []byte // of the hash under which verified passwords are remembered; new in every process
	cost  cost   // of new passwords
	dummy string // what the password of an unknown user is compared with

	turns    *turns              // password checks at a time
	checked  atomic.Int64        // how long a member's last one took with the wait for its turn, in nanoseconds
	proofs   flights[key, int64] // of passwords, by all that was brought
	verified *recent[key, proof]
	creds    *recent[string, credential]
	tokens   *recent[string, knownToken]
	reading  flights[string, credential] // what is not in creds, by folded username
	finding  flights[string, knownToken] // what is not in tokens, by hash
	uses     *uses                       // of tokens
	actors   *recent[int64, resolved]
	written  atomic.Int64 // writes of this process
	hid      atomic.Int64 // of those, the ones that hid projects or showed them

	hiddenNow atomic.Pointer[knownHidden]

	members   *slowdown // logins of members
	strangers *slowdown // logins with names that nobody has
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
	secret := make([]byte, sha256.Size)
	_, _ = rand.Read(secret)
	began := time.Now()
	dummy := hashPassword(newToken(), standard)
	took := time.Since(began)
	s := &Service{
		db: d, store: d, roles: r, mayLogin: mayLogin(d.Dialect, r.disabledKey), m: newMetrics(o.Metrics), now: o.Now,
		key: secret, cost: standard, dummy: dummy,
		turns:    newTurns(max(1, runtime.GOMAXPROCS(0)/2), o.Now),
		verified: newRecent[key, proof](maxVerified, 0, o.Now),
		creds:    newRecent[string, credential](maxCredentials, fresh, o.Now),
		tokens:   newRecent[string, knownToken](maxCredentials, fresh, o.Now),
		uses:     newUses(d, o.Now),
		actors:   newRecent[int64, resolved](maxActors, fresh, o.Now),

		members:   newSlowdown(pairPace, maxSlowed, maxDelayed, o.Now),
		strangers: newSlowdown(pairPace, maxSlowed, maxDelayed, o.Now),
	}
	s.checked.Store(int64(took))
	return s, nil
}

// Seal makes what is stored of a password. It takes tens of milliseconds and
// 19 MiB, so it is done before anything is locked, in turns with logins.
// Errors: fault.Invalid for one that is empty or too long; fault.Transient when
// ctx ends.
func (s *Service) Seal(ctx context.Context, password string) (string, error) {
	if err := checkPassword(password); err != nil {
		return "", err
	}
	w := &waiter{line: sealLine}
	if err := s.turns.take(ctx, w); err != nil {
		return "", err
	}
	defer s.turns.give(w)
	return hashPassword(password, s.cost), nil
}

// Set stores the username and the sealed password of a member, each only when
// not nil, inside the caller's transaction. An empty username ends the login.
// Every process accepts the new ones, and no longer the old, within a second of
// the commit.
// Errors: fault.Invalid, fault.Conflict when another member has the username.
func (s *Service) Set(_ context.Context, tx *db.Tx, member int64, username, sealed *string) error {
	if username != nil {
		if err := checkUsername(*username); err != nil {
			return err
		}
		if *username == "" && sealed == nil {
			return dropCredential(tx, member)
		}
		if *username == "" {
			return fault.Invalidf(fault.NoPlace, "Violation'Required'Member.Username")
		}
	}
	if username == nil && sealed == nil {
		return nil
	}
	return storeCredential(tx, member, username, sealed)
}

// HasPassword reports whether the member's stored credential is this password.
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

// refuse counts a login that was not proven and returns err as callers get it.
func (s *Service) refuse(scheme string, err error) error {
	outcome := failed
	if r, ok := errors.AsType[refusal](err); ok {
		outcome, err = r.outcome, r.error
	} else if _, ok := errors.AsType[*SlowDownError](err); ok {
		outcome = slowed
	}
	s.m.logins.WithLabelValues(scheme, outcome).Inc()
	return err
}

// Ensure gives a member a login unless it has a password already.
func (s *Service) Ensure(ctx context.Context, member int64, username, password string) error {
	sealed, err := s.Seal(ctx, password)
	if err != nil {
		return err
	}
	return s.store.Write(ctx, func(tx *db.Tx) error {
		hash, err := readHash(tx.Gorm(), member)
		if err != nil && fault.KindOf(err) != fault.NotFound {
			return err
		}
		if hash != "" {
			return nil
		}
		return s.Set(ctx, tx, member, &username, &sealed)
	})
}
