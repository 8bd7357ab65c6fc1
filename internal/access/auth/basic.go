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

// key is a keyed hash of data that a caller sent; see Service.keyed.
type key = [sha256.Size]byte

// proof says that a password was verified, and for which version of the credential.
type proof struct {
	member, version int64
	network         string // network of the last login
}

// Basic verifies a username and password. addr is the address of the caller. If the password is
// not cached, Basic waits for a hash slot. If the same network has sent wrong passwords for the
// member, it first waits for a delay. The caller may reuse the memory of the strings afterwards.
// Errors: fault.Unproven; *SlowDownError if too many logins wait, or if the delay is too long;
// fault.Transient if ctx ends or the database is not available.
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
	l := login{
		member: c.member, username: username, password: password,
		secret: s.keyed(username, password), network: network(addr),
	}
	if s.isRemembered(c, l) {
		s.m.logins.WithLabelValues(basic, remembered).Inc()
		s.entered(ctx, basic, signIn{member: c.member, network: l.network})
		return s.passwordLogin(c, username), nil
	}
	l.password, l.network = strings.Clone(password), strings.Clone(l.network)
	s.classify(c, &l)
	return s.verifying.do(ctx, s.keyed(string(l.secret[:]), string(l.pair[:])),
		func(ctx context.Context) (Login, error) { return s.verify(ctx, l) })
}

func (s *Service) passwordLogin(c credential, username string) Login {
	return Login{Member: c.member, provenAt: s.now(), username: username, version: c.version}
}

// login is one attempt to log in with a password.
type login struct {
	member             int64  // the member with the username; 0: none
	username, password string // username is folded
	network            string // network of the caller's address
	secret             key    // hash of username and password
	class
}

// class selects the counter and the queue of a login.
type class struct {
	account  key // hash of the member, or of an unknown username
	pair     key // hash of account and network
	queue    queue
	throttle *throttle
}

// isRemembered reports whether the password was verified before, for the current version of the
// credential. If so, it marks the pair of member and network as trusted.
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

// classify sets the class of a login. If the username has a member, the account is the member,
// so that all spellings of the username count together. Usernames with which nobody can log in
// have a separate throttle and a separate queue.
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

// admit counts an attempt and waits for its delay. During the wait, the login occupies no hash
// slot and no database connection.
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

// passwordCheck is the result of the check of a password.
type passwordCheck struct {
	credential
	right bool
	decoy *waiter       // entry in unknownQueue for a wrong password of a member; see delayAsUnknown
	since time.Time     // when the login was queued
	took  time.Duration // time to compute the hash
}

// checkInTurn verifies a password in a hash slot. It does the same work for known and unknown
// usernames, so that the response time does not reveal which usernames exist.
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

// compare compares the password with the stored hash, and releases the slot. It reads the
// credential again, so that a new password is valid immediately after its commit.
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

// notChecked returns the error of a login whose password was not checked. A login of a member is
// not counted in this case, but a login with an unknown username is counted. If a login with an
// unknown username was refused because its queue is full, it waits as long as the last check of a
// member's password took. Otherwise its response time would reveal that the username is unknown.
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

// wrong returns the error of a wrong password. A login of a member first waits as long as a
// login with an unknown username would. A login of a trusted pair also waits for its delay,
// because it did not wait before the check.
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

// delayAsUnknown waits until a login with an unknown username would be answered. The decoy of r
// waits in the queue of logins with unknown usernames.
// Errors: *SlowDownError if the decoy would be refused; fault.Transient if ctx ends.
func (s *Service) delayAsUnknown(ctx context.Context, l login, r passwordCheck) error {
	if r.decoy == nil {
		return &SlowDownError{After: queueRetry}
	}
	late := time.NewTimer(r.since.Add(s.slots.wait).Sub(s.now()))
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

// sharedCredential calls readCredential once for all concurrent callers with the same username.
func (s *Service) sharedCredential(ctx context.Context, username string) (credential, error) {
	return s.credentialReads.do(ctx, username,
		func(ctx context.Context) (credential, error) { return s.readCredential(ctx, username) })
}

// readCredential reads and caches the credential of a folded username. The result is the zero
// credential for an unknown username.
func (s *Service) readCredential(ctx context.Context, username string) (credential, error) {
	began := s.now()
	c, err := s.findCredential(ctx, username)
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return credential{}, err
	}
	s.credentials.put(username, c, began)
	return c, nil
}

// keyed returns the hash of two texts with the key of the process. The hash includes the length
// of the first text, so that "ab" and "c" differ from "a" and "bc".
func (s *Service) keyed(first, second string) (k key) {
	h := hmac.New(sha256.New, s.key)
	h.Write(binary.AppendUvarint(nil, uint64(len(first))))
	h.Write([]byte(first))
	h.Write([]byte(second))
	h.Sum(k[:0])
	return k
}

// refusal is the error of a refused login. It has an outcome for the metrics and a reason for
// the audit trail.
type refusal struct {
	error
	outcome, reason string
}

// Unwrap returns the fault for the caller.
func (r refusal) Unwrap() error { return r.error }

// errWrong returns a refusal whose message contains neither outcome nor reason.
func errWrong(outcome, reason string) error {
	return refusal{fault.Unprovenf("Unknown username or wrong password"), outcome, reason}
}

func errUnknownName() error { return errWrong(unknown, reasonUnknown) }
