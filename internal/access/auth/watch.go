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
	watchEvery   = 400 * time.Millisecond // interval of the checks of a running request
	shortWait    = 50 * time.Millisecond  // minimum age of a login that Proven checks again
	watchTimeout = 5 * time.Second        // time without a successful check after which a request is ended
)

// Login is a verified login of a member, by password or by access token. A Login that has only a
// Member is for a request that was accepted earlier. It is valid as long as MayLogin is true for
// the member.
type Login struct {
	Member int64 // stored id

	provenAt  time.Time // when the login was verified
	username  string    // folded; empty: the login is not by password
	version   int64     // version of the credential, if the login is by password
	token     string    // hash of the access token; empty: the login is not by token
	tokenID   string    // id of the access token; empty: the login is not by token
	tokenName string    // name of the access token
	session   bool      // true: the access token is a session
	bounds    *Bounds   // limits of the access token; nil: none
}

// byPassword reports whether the login is by a password.
func (l Login) byPassword() bool { return l.username != "" }

// watch has the data for the checks of one running request.
type watch struct {
	s     *Service
	l     Login
	who   Actor
	began time.Time
	ctx   context.Context // context of the request
	end   context.CancelCauseFunc
}

// Watch returns a context for a request with a login and the rights of an actor. If the request
// runs longer than watchEvery, the login and the rights are checked at that interval, and again
// before a commit. If the login is no longer valid, or if the member has lost rights, the context
// ends and nothing is committed. Lost then returns the reason. stop ends the checks and the
// context.
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

// Lost returns the reason if a watched context has ended because the login or rights were lost;
// otherwise nil. The error is fault.Unproven or fault.Denied.
func Lost(ctx context.Context) error {
	cause := context.Cause(ctx)
	switch fault.KindOf(cause) {
	case fault.Unproven, fault.Denied:
		return cause
	}
	return nil
}

// run checks the request at intervals until it has ended.
func (w *watch) run() {
	right := time.Now() // time of the last successful check
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

// beforeCommit refuses a commit if the request has run for a while and is no longer allowed.
func (w *watch) beforeCommit(ctx context.Context) error {
	if w.s.now().Sub(w.began) < watchEvery {
		return nil
	}
	return w.s.check(ctx, w.l, w.who, 0)
}

// check checks that a login is still valid, and that its member still has all the rights in who. It
// only uses data that was read less than age ago. Errors: fault.Unproven, fault.Denied.
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
	if who.Bounds != nil {
		var err error
		if now, err = s.bounded(ctx, now, who.Bounds); err != nil {
			return err
		}
	}
	if s.roles.lost(who, now.Actor) {
		return fault.Deniedf("The rights of the member have changed")
	}
	return nil
}

// checkLogin checks that a login is still valid. It only uses data that was read less than age
// ago. Errors: fault.Unproven.
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

// gone replaces fault.NotFound for a member by fault.Unproven.
func gone(err error) error {
	if fault.KindOf(err) == fault.NotFound {
		return fault.Unprovenf("The member no longer exists")
	}
	return err
}

// lost reports whether an actor has lost rights since an earlier time. The parameter had is the actor
// at that time, and the parameter has is the actor now. Rights are lost if a project is missing, or
// if a role in a project or in the whole system is not as high as before.
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
