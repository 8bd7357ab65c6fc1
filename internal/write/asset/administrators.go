package asset

import (
	"context"
	"fmt"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// noteAdministrators records in the session that a command may have left fewer system
// administrators who can log in.
func (g *gate) noteAdministrators(c *Command, target *row) {
	lost := target.typ == g.s.e.layout.member && c.Verb != Create &&
		(c.Verb == Operate || c.Verb == Undo || c.sets("DefaultRole") || c.sets("IsLoginDisabled") || c.sets("Username"))
	for _, r := range g.changes.roles[g.changes.start.roles:] {
		lost = lost || r.end && r.scope == 0
	}
	g.s.administratorsChanged = g.s.administratorsChanged || lost
}

// checkAdministrators returns an error if no system administrator could log in after the request.
// Nobody could then make another member a system administrator.
// Errors: fault.Denied.
func (s *Session) checkAdministrators(ctx context.Context) error {
	l := s.e.layout
	if !s.administratorsChanged || l.loginDisabled == nil || l.defaultRole == nil {
		return nil
	}
	// Without the lock, two concurrent requests could each remove one of the last two
	// administrators.
	if err := lockNamed(ctx, s.tx, "administrators"); err != nil {
		return err
	}
	admin := l.roleID(int64(meta.SystemAdmin))
	all, err := db.Column[int64](ctx, s.tx, `SELECT a.id FROM asset a WHERE a.type = ? AND a.state < ?`+
		` AND COALESCE(`+s.e.db.Dialect.JSONBool("a.attrs", l.loginDisabled.Place.Column)+`, 0) = 0`+
		` AND (EXISTS (SELECT 1 FROM asset_link l WHERE l.relation = ? AND l.from_type = a.type AND l.from_id = a.id`+
		` AND l.to_id = ? AND l.until_moment = ?)`+
		` OR EXISTS (SELECT 1 FROM scope_member m WHERE m.member_id = a.id AND m.scope_id = 0`+
		` AND m.role_id = ? AND m.until_moment = ?))`,
		l.member.Code, meta.StateClosed, l.defaultRole.Place.Code, admin, db.Forever, admin, db.Forever)
	if err != nil {
		return fmt.Errorf("look for administrators: %w", err)
	}
	left := len(all) > 0
	if left && s.e.creds != nil {
		if left, err = s.e.creds.HaveLogin(ctx, s.tx, all); err != nil {
			return fmt.Errorf("look for logins of administrators: %w", err)
		}
	}
	if !left {
		return fault.Deniedf("The request would leave no system administrator who can log in")
	}
	return nil
}
