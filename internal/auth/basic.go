package auth

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/folding"
)

// verifyTimeout bounds one password check, the wait for its turn included.
const verifyTimeout = 15 * time.Second

// proof says that a username and password belonged to this version of a
// member's credential.
type proof struct {
	member, version int64
}

// Basic proves a username and password; addr is the caller's address, for the
// slow-down. The strings may alias a buffer that is reused later.
// Errors: fault.Unproven; *SlowDownError after too many wrong ones.
// Spec: interface 5.2.
func (s *Service) Basic(ctx context.Context, username, password, addr string) (Actor, error) {
	if len(username) > 4*maxUsername || len(password) > maxPassword || !utf8.ValidString(username) {
		return Actor{}, s.refuse("basic", refused, errWrongPassword())
	}
	username = folding.Of(strings.Clone(username))
	c, err := s.credential(ctx, username)
	if err != nil {
		return Actor{}, s.refuse("basic", failed, err)
	}
	key := s.keyed(username, password)
	if p, ok := s.verified.get(key); ok && c.usable && p == (proof{c.member, c.version}) {
		s.m.logins.WithLabelValues("basic", remembered).Inc()
		return s.proven(ctx, c.member)
	}
	member, err := s.proveOnce(ctx, key, login{username, strings.Clone(password), strings.Clone(addr)})
	if err != nil {
		return Actor{}, err
	}
	return s.proven(ctx, member)
}

// login is what a caller brings, the username folded.
type login struct{ username, password, addr string }

// proveOnce proves a login once for all callers that bring it at the same time.
func (s *Service) proveOnce(ctx context.Context, key [sha256.Size]byte, l login) (int64, error) {
	done := s.flights.DoChan(string(key[:]), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), verifyTimeout)
		defer cancel()
		return s.prove(ctx, key, l)
	})
	select {
	case r := <-done:
		if r.Err != nil {
			return 0, r.Err
		}
		return r.Val.(int64), nil
	case <-ctx.Done():
		return 0, fault.Transientf(ctx.Err(), "the login took too long")
	}
}

// prove does the slow work. It reads the credential anew, so that a password
// counts from the moment it is set.
func (s *Service) prove(ctx context.Context, key [sha256.Size]byte, l login) (int64, error) {
	user := l.username
	if err := s.attempt(user, l.addr); err != nil {
		return 0, s.refuse("basic", slowed, err)
	}
	c, err := s.readCredential(ctx, l.username)
	ok := false
	if err == nil {
		ok, err = s.check(ctx, c, l.password)
	}
	if err != nil {
		s.byUser.takeBack(user)
		s.byAddr.takeBack(l.addr)
		return 0, s.refuse("basic", failed, err)
	}
	if !ok {
		return 0, s.refuse("basic", refused, errWrongPassword())
	}
	s.byUser.clear(user)
	s.byAddr.takeBack(l.addr)
	s.verified.put(key, proof{c.member, c.version}, s.now())
	s.m.logins.WithLabelValues("basic", verified).Inc()
	return c.member, nil
}

func (s *Service) attempt(user, addr string) error {
	if err := s.byUser.attempt(user); err != nil {
		return err
	}
	if err := s.byAddr.attempt(addr); err != nil {
		s.byUser.takeBack(user)
		return err
	}
	return nil
}

// check does the same work whether or not anybody has the username.
func (s *Service) check(ctx context.Context, c credential, password string) (bool, error) {
	if err := s.turns.Acquire(ctx, 1); err != nil {
		return false, fault.Transientf(err, "too many logins at once")
	}
	defer s.turns.Release(1)
	began := time.Now()
	defer func() { s.m.hashes.Observe(time.Since(began).Seconds()) }()
	if !c.usable || c.hash == "" {
		matches(s.dummy, password)
		return false, nil
	}
	return matches(c.hash, password), nil
}

// credential reads a folded username, at most once a second.
func (s *Service) credential(ctx context.Context, username string) (credential, error) {
	if c, ok := s.creds.get(username); ok {
		return c, nil
	}
	return s.readCredential(ctx, username)
}

// readCredential reads a folded username and remembers what it found. A username
// nobody has is the zero credential, and remembered like any other.
func (s *Service) readCredential(ctx context.Context, username string) (credential, error) {
	began := s.now()
	c, err := s.findCredential(ctx, username)
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return credential{}, err
	}
	s.creds.put(username, c, began)
	return c, nil
}

// keyed hashes a username and password under the process's own key; the length
// in front keeps the two apart.
func (s *Service) keyed(username, password string) (k [sha256.Size]byte) {
	h := hmac.New(sha256.New, s.key)
	h.Write(binary.AppendUvarint(nil, uint64(len(username))))
	h.Write([]byte(username))
	h.Write([]byte(password))
	h.Sum(k[:0])
	return k
}

func errWrongPassword() error { return fault.Unprovenf("Unknown username or wrong password") }
