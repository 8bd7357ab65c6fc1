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

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/base/folding"
)

// key is a keyed hash of something that a caller sent.
type key = [sha256.Size]byte

// proof is the version of a member's credential for which a password was verified.
type proof struct {
	member, version int64
	network         string // of the last login
}

// Basic verifies a username and password; addr is the caller's address as text. A password that is not cached waits for a hash slot,
// and after wrong passwords of the same member and network for a backoff; the
// wait ends with ctx. The strings may alias a buffer that is reused later.
// Errors: fault.Unproven; *SlowDownError when too many wait already;
// fault.Transient when ctx ends or the database is away.
// Spec: interface 5.2.
func (s *Service) Basic(ctx context.Context, username, password, addr string) (Login, error) {
	if len(username) > 4*maxUsername || len(password) > maxPassword || !utf8.ValidString(username) {
		return Login{}, s.refuse(ctx, basic, 0, errUnknownName())
	}
	username = folding.Of(strings.Clone(username))
	c, err := s.credential(ctx, username)
	if err != nil {
		return Login{}, s.refuse(ctx, basic, 0, err)
	}
	l := login{member: c.member, username: username, password: password, secret: s.keyed(username, password), network: network(addr)}
	if s.isRemembered(c, l) {
		s.m.logins.WithLabelValues(basic, remembered).Inc()
		s.entered(ctx, basic, signIn{member: c.member, network: l.network})
		return s.passwordLogin(c, username), nil
	}
	l.password, l.network = strings.Clone(password), strings.Clone(l.network)
	s.classify(c, &l)
	return s.verifying.do(ctx, s.keyed(string(l.secret[:]), string(l.pair[:])), func(ctx context.Context) (Login, error) { return s.verify(ctx, l) })
}

func (s *Service) passwordLogin(c credential, username string) Login {
	return Login{Member: c.member, provenAt: s.now(), username: username, version: c.version}
}

// login is what a caller sent.
type login struct {
	member             int64  // who has the username; 0: nobody
	username, password string // the username folded
	network            string // of the caller's address
	secret             key    // of username and password
	class
}

// class says by what a login is counted and where it queues.
type class struct {
	account  key // of the member, or of an unknown name
	pair     key // of account and network
	queue    queue
	throttle *throttle
}

// isRemembered reports whether the password was verified before for the present
// version of the credential. If so, the pair with its network is trusted.
func (s *Service) isRemembered(c credential, l login) bool {
	p, ok := s.verified.get(l.secret)
	if !ok || !c.usable || p.member != c.member || p.version != c.version {
		return false
	}
	if p.network != l.network {
		s.classify(c, &l)
		l.throttle.trust(l.account, l.pair)
		p.network = strings.Clone(l.network)
		s.verified.put(l.secret, p, s.now())
	}
	return true
}

// classify sets the class of a login. Keys are of the member, so that all
// spellings of a name count as one. Names with which nobody can log in have a
// throttle and a queue of their own.
func (s *Service) classify(c credential, l *login) {
	l.class = class{account: s.keyed("name", l.username), queue: unknownQueue, throttle: s.unknownThrottle}
	if c.member != 0 {
		l.account = s.keyed("member", strconv.FormatInt(c.member, 10))
	}
	if c.usable && c.hash != "" {
		l.queue, l.throttle = memberQueue, s.memberThrottle
	}
	l.pair = s.keyed(string(l.account[:]), l.network)
}

// verify verifies a login whose password is not cached.
func (s *Service) verify(ctx context.Context, l login) (Login, error) {
	began := s.now()
	a, err := s.admit(ctx, l)
	if err != nil {
		return Login{}, s.refuse(ctx, basic, l.member, err)
	}
	r, err := s.checkInTurn(ctx, l, a, began)
	if err != nil {
		return Login{}, s.refuse(ctx, basic, l.member, err)
	}
	if !r.right {
		return Login{}, s.refuse(ctx, basic, r.member, s.wrong(ctx, l, a, r))
	}
	l.throttle.succeeded(l.account, l.pair)
	s.verified.put(l.secret, proof{r.member, r.version, l.network}, s.now())
	s.m.logins.WithLabelValues(basic, verified).Inc()
	s.entered(ctx, basic, signIn{member: r.member, network: l.network})
	return s.passwordLogin(r.credential, l.username), nil
}

// admit counts an attempt and waits for its backoff, without a hash slot or a
// connection.
func (s *Service) admit(ctx context.Context, l login) (attempt, error) {
	a, err := l.throttle.attempt(l.account, l.pair)
	if err != nil || a.proven {
		return a, err
	}
	if err = l.throttle.wait(ctx, a.delay); err != nil {
		l.throttle.uncount(l.pair)
	}
	return a, err
}

// passwordCheck is the result of one.
type passwordCheck struct {
	credential
	right bool
	decoy *waiter       // for a wrong password of a member: the place a login with an unknown name would have
	since time.Time     // when it was queued
	took  time.Duration // for the hash
}

// checkInTurn verifies a password in a hash slot. It does the same work whether
// or not anybody has the username.
func (s *Service) checkInTurn(ctx context.Context, l login, a attempt, began time.Time) (passwordCheck, error) {
	w := &waiter{queue: l.queue, rank: a.before, account: l.account}
	if a.proven {
		w.rank, w.account = -1, l.pair
	}
	var decoy *waiter
	if l.queue == memberQueue {
		decoy = s.slots.decoy()
	}
	queuedAt := s.now()
	err := s.slots.acquire(ctx, w)
	var r passwordCheck
	if err == nil {
		s.m.waits.Observe(s.now().Sub(began).Seconds())
		r, err = s.compare(ctx, w, l)
	}
	if l.queue == memberQueue && err == nil {
		s.lastCheck.Store(int64(s.now().Sub(queuedAt)))
	}
	if (err != nil || r.right) && decoy != nil {
		s.slots.cancel(decoy)
	}
	r.decoy, r.since = decoy, queuedAt
	if err != nil {
		return r, s.notChecked(ctx, l, queuedAt, err)
	}
	return r, nil
}

// compare hashes the password and releases the slot. It reads the credential
// again, so that a new password counts from its commit.
func (s *Service) compare(ctx context.Context, w *waiter, l login) (r passwordCheck, err error) {
	defer s.slots.release(w)
	if r.credential, err = s.readCredential(ctx, l.username); err != nil {
		return passwordCheck{}, err
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

// notChecked returns the error of a login whose password could not be verified.
// One with an unknown name still counts, and waits as long as the check of a
// member's password takes, so that its time does not tell that the name is unknown.
func (s *Service) notChecked(ctx context.Context, l login, queuedAt time.Time, err error) error {
	if l.queue == memberQueue {
		l.throttle.uncount(l.pair)
		return err
	}
	if _, full := errors.AsType[*SlowDownError](err); full {
		_ = l.throttle.wait(ctx, time.Duration(s.lastCheck.Load())-s.now().Sub(queuedAt))
	}
	return err
}

// wrong returns the error of a wrong password. A login of a member waits as long
// as one with an unknown name would, and one of a trusted pair for the backoff
// that its check skipped.
func (s *Service) wrong(ctx context.Context, l login, a attempt, r passwordCheck) error {
	if l.queue == memberQueue {
		if err := s.delayAsUnknown(ctx, l, r); err != nil {
			return err
		}
	}
	if a.proven {
		if err := l.throttle.wait(ctx, a.delay); err != nil {
			return err
		}
	}
	switch {
	case r.member == 0:
		return errUnknownName()
	case !r.usable:
		return errWrong(refused, reasonClosed)
	}
	return errWrong(refused, reasonPassword)
}

// delayAsUnknown waits until a login with an unknown name would be answered.
func (s *Service) delayAsUnknown(ctx context.Context, l login, r passwordCheck) error {
	if r.decoy == nil {
		return &SlowDownError{After: queueRetry}
	}
	late := time.NewTimer(r.since.Add(maxQueueWait).Sub(s.now()))
	defer late.Stop()
	select {
	case <-late.C:
		s.slots.cancel(r.decoy)
		return &SlowDownError{After: queueRetry}
	case <-r.decoy.ready:
		return l.throttle.wait(ctx, r.decoy.acquiredAt.Add(r.took).Sub(s.now()))
	case <-ctx.Done():
		s.slots.cancel(r.decoy)
		return fault.Transientf(ctx.Err(), "the login took too long")
	}
}

// credential returns the credential of a folded username, at most maxAge old.
func (s *Service) credential(ctx context.Context, username string) (credential, error) {
	if c, ok := s.credentials.get(username); ok {
		return c, nil
	}
	return s.sharedCredential(ctx, username)
}

// sharedCredential is readCredential, once for all who read the same at the same time.
func (s *Service) sharedCredential(ctx context.Context, username string) (credential, error) {
	return s.credentialReads.do(ctx, username, func(ctx context.Context) (credential, error) { return s.readCredential(ctx, username) })
}

// readCredential reads and caches the credential of a folded username; the zero
// credential for an unknown one.
func (s *Service) readCredential(ctx context.Context, username string) (credential, error) {
	began := s.now()
	c, err := s.findCredential(ctx, username)
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return credential{}, err
	}
	s.credentials.put(username, c, began)
	return c, nil
}

// keyed hashes two texts under the key of the process. The length of the first
// separates them.
func (s *Service) keyed(first, second string) (k key) {
	h := hmac.New(sha256.New, s.key)
	h.Write(binary.AppendUvarint(nil, uint64(len(first))))
	h.Write([]byte(first))
	h.Write([]byte(second))
	h.Sum(k[:0])
	return k
}

// refusal is a refused login with its outcome in the metrics and its reason in the
// audit.
type refusal struct {
	error
	outcome, reason string
}

// Unwrap returns the fault that callers see.
func (r refusal) Unwrap() error { return r.error }

// errWrong tells the caller neither outcome nor reason.
func errWrong(outcome, reason string) error {
	return refusal{fault.Unprovenf("Unknown username or wrong password"), outcome, reason}
}

func errUnknownName() error { return errWrong(unknown, reasonUnknown) }
