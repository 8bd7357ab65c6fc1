package auth

import (
	"context"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
)

// SetPassword sets the password of the member with that username, with the rules and
// the effects of a change through the interface: sessions, and the tokens that end with
// the password, are revoked. ask returns the password, and is called once the member is
// known. It reports whether the member may log in: one that is closed or disabled keeps
// the new password and may not.
// Errors: fault.NotFound for an unknown username; fault.Invalid for a password that is
// empty or too long; those of ask.
func (s *Service) SetPassword(ctx context.Context, username string, ask func() (string, error)) (mayLogIn bool, err error) {
	c, err := s.memberNamed(ctx, username)
	if err != nil {
		return false, err
	}
	password, err := ask()
	if err != nil {
		return false, err
	}
	sealed, err := s.Seal(ctx, password)
	if err != nil {
		return false, err
	}
	if err := s.store.Write(ctx, func(tx *db.Tx) error { return s.Set(ctx, tx, c.member, nil, &sealed) }); err != nil {
		return false, err
	}
	s.LoginsChanged()
	return c.usable, nil
}

// LacksPassword reports whether Ensure would set the password of a member, now or once
// it is there.
func (s *Service) LacksPassword(ctx context.Context, member int64) (bool, error) {
	username, err := s.findFirstLogin(ctx, member)
	if fault.KindOf(err) == fault.NotFound {
		return true, nil
	}
	return username != "", err
}

// Ensure sets the first password of a member who has a username and no password.
// One whose username was removed, or who is deleted, shall not log in.
func (s *Service) Ensure(ctx context.Context, member int64, password string) error {
	username, err := s.findFirstLogin(ctx, member)
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	if err != nil || username == "" {
		return err
	}
	sealed, err := s.Seal(ctx, password)
	if err != nil {
		return err
	}
	return s.store.Write(ctx, func(tx *db.Tx) error { return s.Set(ctx, tx, member, &username, &sealed) })
}
