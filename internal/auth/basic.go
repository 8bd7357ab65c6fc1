package auth

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/folding"
)

// key stands for something a caller sent, hashed under the process's own key.
type key = [sha256.Size]byte

// proof says that a username and password belonged to this version of a
// member's credential.
type proof struct {
	member, version int64
	network         string // from which they came the last time
}

// Basic proves a username and password and returns whose they are; addr is the caller's address as text.
// A password that was not proven before waits for its turn, and after wrong
// ones of the same member and address longer; the wait ends with ctx. The
// strings may alias a buffer that is reused later.
// Errors: fault.Unproven; *SlowDownError when too many wait already;
// fault.Transient when ctx ends or the database is away.
// Spec: interface 5.2.
func (s *Service) Basic(ctx context.Context, username, password, addr string) (member int64, err error) {
	if len(username) > 4*maxUsername || len(password) > maxPassword || !utf8.ValidString(username) {
		return 0, s.refuse("basic", errWrongPassword())
	}
	username = folding.Of(strings.Clone(username))
	c, err := s.credential(ctx, username)
	if err != nil {
		return 0, s.refuse("basic", err)
	}
	l := login{username: username, password: password, secret: s.keyed(username, password), network: network(addr)}
	if s.isVerified(c, l) {
		s.m.logins.WithLabelValues("basic", remembered).Inc()
		return c.member, nil
	}
	l.password, l.network = strings.Clone(password), strings.Clone(l.network)
	s.placeOf(c, &l)
	return s.proofs.do(ctx, s.keyed(string(l.secret[:]), string(l.pair[:])), func(ctx context.Context) (int64, error) { return s.prove(ctx, l) })
}

// login is what a caller brings.
type login struct {
	username, password string // the username folded
	network            string // of the caller's address
	secret             key    // of username and password
	place
}

// place is what a login counts as.
type place struct {
	name, pair key // of the member, or of a name that nobody has; of that and the network
	line       line
	slow       *slowdown
}

// isVerified reports whether the password was verified before for the credential
// that stands now. Then its network has succeeded, too.
func (s *Service) isVerified(c credential, l login) bool {
	p, ok := s.verified.get(l.secret)
	if !ok || !c.usable || p.member != c.member || p.version != c.version {
		return false
	}
	if p.network != l.network {
		s.placeOf(c, &l)
		l.slow.trusts(l.name, l.pair)
		p.network = strings.Clone(l.network)
		s.verified.put(l.secret, p, s.now())
	}
	return true
}

// placeOf says what a login counts as. The keys are of the member, so that all
// spellings of a name are one. A name with which nobody can log in has tables
// and a line of its own, apart from those of members.
func (s *Service) placeOf(c credential, l *login) {
	l.place = place{name: s.keyed("name", l.username), line: strangerLine, slow: s.strangers}
	if c.member != 0 {
		l.name = s.keyed("member", strconv.FormatInt(c.member, 10))
	}
	if c.usable && c.hash != "" {
		l.line, l.slow = memberLine, s.members
	}
	l.pair = s.keyed(string(l.name[:]), l.network)
}

// prove does the slow work.
func (s *Service) prove(ctx context.Context, l login) (int64, error) {
	began := s.now()
	a, err := s.admit(ctx, l)
	if err != nil {
		return 0, s.refuse("basic", err)
	}
	r, err := s.check(ctx, l, a, began)
	if err != nil {
		return 0, s.refuse("basic", err)
	}
	if !r.right {
		return 0, s.refuse("basic", s.wrong(ctx, l, a, r))
	}
	l.slow.succeeded(l.name, l.pair)
	s.verified.put(l.secret, proof{r.member, r.version, l.network}, s.now())
	s.m.logins.WithLabelValues("basic", verified).Inc()
	return r.member, nil
}

// admit counts an attempt and waits until it may be verified, which costs
// neither a hash nor a connection.
func (s *Service) admit(ctx context.Context, l login) (attempt, error) {
	a, err := l.slow.attempt(l.name, l.pair)
	if err != nil || a.proven {
		return a, err
	}
	if err = l.slow.hold(ctx, a.wait); err != nil {
		l.slow.takeBack(l.pair)
	}
	return a, err
}

// result is what a password check found.
type result struct {
	credential
	right bool
	decoy *waiter   // for a wrong password of a member: where a stranger's login would stand now
	since time.Time // in line
	took  time.Duration
}

// check verifies a password when it is its turn. It does the same work whether
// or not anybody has the username.
func (s *Service) check(ctx context.Context, l login, a attempt, began time.Time) (result, error) {
	w := &waiter{line: l.line, rank: a.wrong, who: l.name}
	if a.proven {
		w.rank, w.who = -1, l.pair
	}
	var decoy *waiter
	if l.line == memberLine {
		decoy = s.turns.decoy()
	}
	inLine := s.now()
	err := s.turns.take(ctx, w)
	var r result
	if err == nil {
		s.m.waits.Observe(s.now().Sub(began).Seconds())
		r, err = s.compare(ctx, w, l)
	}
	if l.line == memberLine && err == nil {
		s.checked.Store(int64(s.now().Sub(inLine)))
	}
	if (err != nil || r.right) && decoy != nil {
		s.turns.leave(decoy)
	}
	r.decoy, r.since = decoy, inLine
	if err != nil {
		return r, s.unchecked(ctx, l, inLine, err)
	}
	return r, nil
}

// compare hashes the password and ends the turn. It reads the credential anew,
// so that a password counts from the moment it is set.
func (s *Service) compare(ctx context.Context, w *waiter, l login) (r result, err error) {
	defer s.turns.give(w)
	if r.credential, err = s.readCredential(ctx, l.username); err != nil {
		return result{}, err
	}
	began, clock := s.now(), time.Now()
	if r.usable && r.hash != "" {
		r.right = matches(r.hash, l.password)
	} else {
		matches(s.dummy, l.password)
	}
	r.took = s.now().Sub(began)
	s.m.hashes.Observe(time.Since(clock).Seconds())
	return r, nil
}

// unchecked is the answer to a login whose password could not be verified. One
// with a name that nobody has counts all the same, and is told that its line is
// full about when a wrong password of a member would be.
func (s *Service) unchecked(ctx context.Context, l login, inLine time.Time, err error) error {
	if l.line == memberLine {
		l.slow.takeBack(l.pair)
		return err
	}
	if _, full := errors.AsType[*SlowDownError](err); full {
		_ = l.slow.hold(ctx, time.Duration(s.checked.Load())-s.now().Sub(inLine))
	}
	return err
}

// wrong answers a wrong password: about when it would be answered if nobody had
// the name, and if the pair has succeeded before, after the wait that its check
// did not have.
func (s *Service) wrong(ctx context.Context, l login, a attempt, r result) error {
	if l.line == memberLine {
		if err := s.asStranger(ctx, l, r); err != nil {
			return err
		}
	}
	if a.proven {
		if err := l.slow.hold(ctx, a.wait); err != nil {
			return err
		}
	}
	if r.member == 0 {
		return errUnknownName()
	}
	return errWrongPassword()
}

// asStranger waits until the login of a stranger would be answered.
func (s *Service) asStranger(ctx context.Context, l login, r result) error {
	if r.decoy == nil {
		return &SlowDownError{After: lineRetry}
	}
	late := time.NewTimer(r.since.Add(longestTurn).Sub(s.now()))
	defer late.Stop()
	select {
	case <-late.C:
		s.turns.leave(r.decoy)
		return &SlowDownError{After: lineRetry}
	case <-r.decoy.ready:
		return l.slow.hold(ctx, r.decoy.at.Add(r.took).Sub(s.now()))
	case <-ctx.Done():
		s.turns.leave(r.decoy)
		return fault.Transientf(ctx.Err(), "the login took too long")
	}
}

// credential reads a folded username, at most once a second, whoever else asks
// for it meanwhile: else many would, and each wait for all the others.
func (s *Service) credential(ctx context.Context, username string) (credential, error) {
	if c, ok := s.creds.get(username); ok {
		return c, nil
	}
	return s.reading.do(ctx, username, func(ctx context.Context) (credential, error) { return s.readCredential(ctx, username) })
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

// keyed hashes two texts under the process's own key; the length in front keeps
// them apart.
func (s *Service) keyed(first, second string) (k key) {
	h := hmac.New(sha256.New, s.key)
	h.Write(binary.AppendUvarint(nil, uint64(len(first))))
	h.Write([]byte(first))
	h.Write([]byte(second))
	h.Sum(k[:0])
	return k
}

// refusal is a login that was refused for good.
type refusal struct {
	error
	outcome string
}

// Unwrap returns the fault that callers see.
func (r refusal) Unwrap() error { return r.error }

// Nobody sees the difference between the two but the metric.
func errWrongPassword() error {
	return refusal{fault.Unprovenf("Unknown username or wrong password"), refused}
}

func errUnknownName() error {
	return refusal{fault.Unprovenf("Unknown username or wrong password"), unknown}
}
