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
	signInEvery = time.Hour // a sign-in is put into the audit that often
)

// signIn is what makes one sign-in differ from another: clients that use Basic
// sign in with every request.
type signIn struct {
	member         int64
	network, token string // token is the id of one; empty for a password
}

// The reasons of refused sign-ins in the audit.
const (
	reasonUnknown  = "unknown username"
	reasonPassword = "wrong password"
	reasonClosed   = "the member may not log in"
	reasonSlowed   = "too many attempts; not checked"
	reasonToken    = "unknown or revoked token" //nolint:gosec // no credential
	reasonExpired  = "expired token"
)

// entered puts a sign-in into the audit, once in a while for each member, network
// and credential.
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

// refuse counts a refused login, puts it into the audit if its credentials were
// the reason, and returns err for the caller. member is the one whose credentials
// were tried; 0: nobody's.
func (s *Service) refuse(ctx context.Context, scheme string, member int64, err error) error {
	outcome, reason := failed, ""
	if r, ok := errors.AsType[refusal](err); ok {
		outcome, reason, err = r.outcome, r.reason, r.error
	} else if _, ok := errors.AsType[*SlowDownError](err); ok {
		outcome, reason = slowed, reasonSlowed
	}
	s.m.logins.WithLabelValues(scheme, outcome).Inc()
	if reason != "" {
		s.audit.Note(ctx, trail.Event{Kind: trail.SignInRefused, Member: member, Detail: trail.Detail{Scheme: scheme, Reason: reason}})
	}
	return err
}

// loginChanged is the event of a new username or password.
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
