package auth

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/access/trail"
)

const (
	maxSignIns  = 10_000
	signInEvery = time.Hour // equal sign-ins are recorded once in this time
)

// signIn identifies equal sign-ins. Equal sign-ins are not all recorded, because a client with
// Basic signs in with every request.
type signIn struct {
	member         int64
	network, token string // token: id of the access token; empty: a password
}

// Reasons of refused sign-ins, in the audit trail.
const (
	reasonUnknown  = "unknown username"
	reasonPassword = "wrong password"
	reasonClosed   = "the member may not log in"
	reasonSlowed   = "too many attempts; not checked"
	reasonToken    = "unknown or revoked token" //nolint:gosec // no credential
	reasonExpired  = "expired token"
	reasonAddress  = "token from another address"
)

// entered records a sign-in in the audit trail, once per signInEvery for each member, network
// and token.
func (s *Service) entered(ctx context.Context, scheme string, in signIn) {
	if _, ok := s.signedIn.get(in); ok || s.audit == nil {
		return
	}
	in.network = strings.Clone(in.network)
	s.signedIn.put(in, struct{}{}, s.now())
	s.audit.Note(ctx, trail.Event{
		Kind: trail.SignIn, Actor: in.member, Member: in.member, Detail: trail.Detail{Scheme: scheme, Token: in.token},
	})
}

// refuse counts a login that failed with err, and returns the error for the caller. If err is a
// refusal or a *SlowDownError, the audit trail records it, too. member is the member whose
// credentials were tried; 0: none.
func (s *Service) refuse(ctx context.Context, scheme string, member int64, err error) error {
	outcome, reason := failed, ""
	if r, ok := errors.AsType[refusal](err); ok {
		outcome, reason, err = r.outcome, r.reason, r.error
	} else if _, ok := errors.AsType[*SlowDownError](err); ok {
		outcome, reason = slowed, reasonSlowed
	}
	s.m.logins.WithLabelValues(scheme, outcome).Inc()
	if reason != "" {
		s.audit.Note(ctx, trail.Event{
			Kind: trail.SignInRefused, Member: member, Detail: trail.Detail{Scheme: scheme, Reason: reason},
		})
	}
	return err
}

// loginChanged returns the audit event for a new username or password. sealed is the hash of the
// password. If username or sealed is nil, this value did not change.
func loginChanged(member int64, username, sealed *string) trail.Event {
	var changed []string
	if username != nil {
		changed = append(changed, "Username")
	}
	if sealed != nil {
		changed = append(changed, "Password")
	}
	return trail.Event{Kind: trail.LoginChanged, Member: member, Detail: trail.Detail{Changed: changed}}
}
