package auth

import (
	"context"
	"database/sql"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/base/folding"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// SetPassword sets the password of the member with a username. The rules and the effects are
// those of a change through the interface: sessions, and tokens that end with the password, are
// revoked. If the row of the login is lost, SetPassword creates it again.
//
// ask returns the password. It is called only if the member exists. mayLogIn is false for a
// member that is closed or disabled: the password is set, but the member may not log in.
// Errors: fault.NotFound for an unknown username; fault.Invalid for a password that is empty or
// too long; those of ask.
func (s *Service) SetPassword(
	ctx context.Context, username string, ask func() (string, error),
) (mayLogIn bool, err error) {
	c, err := s.memberNamed(ctx, username)
	var again *string // the username, if the row of the login is lost
	if unknown := err; fault.KindOf(err) == fault.NotFound {
		if c, again, err = s.lostLogin(ctx, username); err == nil && again == nil {
			err = unknown
		}
	}
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
	err = s.store.Write(ctx, func(tx *db.Tx) error { return s.Set(ctx, tx, c.member, again, &sealed) })
	if err != nil {
		return false, err
	}
	s.LoginsChanged()
	return c.usable, nil
}

// lostLogin finds a member that has a username as its attribute Username, but no row in
// credential. The command "api check" reports this state. name is the attribute; nil: there is
// no such member.
func (s *Service) lostLogin(ctx context.Context, username string) (c credential, name *string, err error) {
	folded := folding.Of(username)
	err = db.Each(ctx, s.store, `SELECT a.id, `+s.store.Dialect.JSONText("a.attrs", s.roles.usernameKey)+`, CASE WHEN `+s.mayLogin+` THEN 1 ELSE 0 END
  FROM asset a LEFT JOIN credential c ON c.member_id = a.id
 WHERE a.type = ? AND a.state < ? AND c.member_id IS NULL`, []any{s.roles.member.Code, meta.StateDeleted}, func(row db.Scanner) error {
		var of credential
		var is sql.NullString
		err := row.Scan(&of.member, &is, &of.usable)
		if is.String != "" && folding.Of(is.String) == folded {
			c, name = of, &is.String
		}
		return err
	})
	return c, name, err
}

// LacksPassword reports whether Ensure would set the password of a member. It also returns true if
// the member does not exist yet.
func (s *Service) LacksPassword(ctx context.Context, member int64) (bool, error) {
	username, err := s.findFirstLogin(ctx, member)
	if fault.KindOf(err) == fault.NotFound {
		return true, nil
	}
	return username != "", err
}

// Ensure sets the password of a member who has a username and no password. It does nothing for a
// member without a username or for a deleted member, because they must not be able to log in.
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
