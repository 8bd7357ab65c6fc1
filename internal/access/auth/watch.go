package auth

import (
	"context"
	"slices"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

const (
	watchEvery   = 400 * time.Millisecond // between two checks of a running request
	shortWait    = 50 * time.Millisecond  // of a request for its turn, after which its login is not checked again
	watchTimeout = 5 * time.Second        // how long a request may run on while its checks fail
)

// Login is a proven login: whose it is and by what it was proven. The zero values
// of the other fields stand for a member whose request was accepted earlier: its
// login counts as long as the member could log in.
type Login struct {
	Member int64 // stored id

	provenAt time.Time
	username string // of a password, folded
	version  int64  // of the credential, with a username
	token    string // the hash of an access token
	tokenID  string // its id
	session  bool   // it is a session
}

// TokenID returns the id of the access token by which the login was proven; empty for
// a password.
func (l Login) TokenID() string { return l.tokenID }

// IsSession reports whether that token is a session.
func (l Login) IsSession() bool { return l.session }

// ByPassword reports whether the login was proven by a password.
func (l Login) ByPassword() bool { return l.username != "" }

// watch is the checks of one request.
type watch struct {
	s     *Service
	l     Login
	who   Actor
	began time.Time
	ctx   context.Context // of the request
	end   context.CancelCauseFunc
}

// Watch returns a context for a request of a login with the rights of who. A
// request that runs longer than watchEvery is checked at that interval, and once
// more before it commits: where the login no longer counts or the rights have
// become less, the context ends, with a cause that Lost returns, and nothing is
// committed. stop ends the checks and the context.
func (s *Service) Watch(ctx context.Context, l Login, who Actor) (watched context.Context, stop func()) {
	w := &watch{s: s, l: l, who: who, began: s.now()}
	ctx, w.end = context.WithCancelCause(ctx)
	w.ctx = db.WithGuard(ctx, w.beforeCommit)
	t := time.AfterFunc(watchEvery, w.run)
	return w.ctx, func() {
		t.Stop()
		w.end(nil)
	}
}

// Lost returns why a watched context has ended, when the login or rights were
// lost; nil else. Its kind is fault.Unproven or fault.Denied.
func Lost(ctx context.Context) error {
	cause := context.Cause(ctx)
	switch fault.KindOf(cause) {
	case fault.Unproven, fault.Denied:
		return cause
	}
	return nil
}

// run checks until the request has ended.
func (w *watch) run() {
	right := time.Now() // when all was right last
	for {
		err := w.check()
		switch fault.KindOf(err) {
		case fault.Unproven, fault.Denied:
			w.end(err)
			return
		}
		if err == nil {
			right = time.Now()
		} else if time.Since(right) > watchTimeout {
			w.end(err)
			return
		}
		select {
		case <-w.ctx.Done():
			return
		case <-time.After(watchEvery):
		}
	}
}

func (w *watch) check() error {
	ctx, cancel := context.WithTimeout(w.ctx, watchTimeout)
	defer cancel()
	return w.s.check(ctx, w.l, w.who, watchEvery)
}

// beforeCommit refuses to commit what took long and is not allowed any more.
func (w *watch) beforeCommit(ctx context.Context) error {
	if w.s.now().Sub(w.began) < watchEvery {
		return nil
	}
	return w.s.check(ctx, w.l, w.who, 0)
}

// check checks a login, and that its member may still do what who may, by reads
// younger than age. Errors: fault.Unproven, fault.Denied.
func (s *Service) check(ctx context.Context, l Login, who Actor, age time.Duration) error {
	if err := s.checkLogin(ctx, l, age); err != nil {
		return err
	}
	now, ok := s.actors.getWithin(l.Member, age)
	if !ok {
		var err error
		if now, err = s.actorReads.do(ctx, l.Member); err != nil {
			return gone(err)
		}
	}
	if s.roles.lost(who, now.Actor) {
		return fault.Deniedf("The rights of the member have changed")
	}
	return nil
}

// checkLogin checks whether a login still counts, by a read younger than age.
// Errors: fault.Unproven.
func (s *Service) checkLogin(ctx context.Context, l Login, age time.Duration) error {
	switch {
	case l.token != "":
		return s.checkToken(ctx, l, age)
	case l.username != "":
		return s.checkCredential(ctx, l, age)
	}
	may, err := s.MayLogin(ctx, l.Member)
	if err == nil && !may {
		err = fault.Unprovenf("The member may no longer log in")
	}
	return err
}

func (s *Service) checkToken(ctx context.Context, l Login, age time.Duration) (err error) {
	t, ok := s.knownToken(l.token, age)
	if !ok {
		t, err = s.tokenReads.do(ctx, l.token)
	}
	if fault.KindOf(err) == fault.NotFound || err == nil && t.hasExpired(s.now()) {
		return errTokenOver()
	}
	return err
}

func (s *Service) checkCredential(ctx context.Context, l Login, age time.Duration) (err error) {
	c, ok := s.credentials.getWithin(l.username, age)
	switch {
	case ok:
	case age == 0:
		c, err = s.readCredential(ctx, l.username)
	default:
		c, err = s.sharedCredential(ctx, l.username)
	}
	if err == nil && (!c.usable || c.member != l.Member || c.version != l.version) {
		err = errPasswordOver()
	}
	return err
}

func errTokenOver() error    { return fault.Unprovenf("The access token is not valid any more") }
func errPasswordOver() error { return fault.Unprovenf("The password is not valid any more") }

// gone turns the fault of a member who does not exist into that of a login.
func gone(err error) error {
	if fault.KindOf(err) == fault.NotFound {
		return fault.Unprovenf("The member no longer exists")
	}
	return err
}

// lost reports whether an actor has less than it had: a project, or as high a role
// in one or in the whole system.
func (r roles) lost(had, has Actor) bool {
	if has.Admin {
		return false
	}
	lower := func(had, has meta.Role) bool { return has != had && !r.order.Above(has, had) }
	if had.All || lower(had.System, has.System) {
		return true
	}
	for i, scope := range had.Scopes {
		at, reads := slices.BinarySearch(has.Scopes, scope)
		if !reads || lower(had.Roles[i], has.Roles[at]) {
			return true
		}
	}
	return false
}
