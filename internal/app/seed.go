package app

import (
	"context"
	"fmt"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/release"
	"github.com/alds-dev/alds/internal/operate/dump"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset"
)

// The administrator's login in a new database.
const (
	adminUsername   = "admin"
	defaultPassword = "admin"
)

// migrate brings the schema up to date, fills a new database and checks the key. Where
// a newer release has migrated the database it only checks: what that one has written
// stays.
func (s *service) migrate(ctx context.Context) error {
	if err := s.requirePassword(ctx); err != nil {
		return err
	}
	if err := s.db.Migrate(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if err := dump.Finished(ctx, s.db); err != nil {
		return err
	}
	state, err := s.db.SchemaState(ctx)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if state.OfNewer() {
		s.log.Warn("the database is of a newer release, which works with this one: nothing is migrated", "release", release.Number, "database", state.Release)
		return s.checkKey(ctx)
	}
	if err := s.db.Exclusive(ctx, func() error { return s.fill(ctx) }); err != nil {
		return err
	}
	if err := s.noteOtherPassword(ctx); err != nil {
		return err
	}
	return s.checkKey(ctx)
}

// fill inserts what a database lacks of what every one has.
func (s *service) fill(ctx context.Context) error {
	if err := asset.Seed(ctx, s.db, s.model); err != nil {
		return fmt.Errorf("insert the well-known assets: %w", err)
	}
	if err := s.auth.Ensure(ctx, auth.SystemMember, s.cfg.AdminPassword.Reveal()); err != nil {
		return fmt.Errorf("make the administrator's login: %w", err)
	}
	return nil
}

// noteOtherPassword says that the setting has no effect, for those who set it later
// than the database was filled. It hashes, so it is no part of each start.
func (s *service) noteOtherPassword(ctx context.Context) error {
	if s.role.standalone || s.cfg.AdminPassword.IsZero() {
		return nil
	}
	same, err := s.auth.HasPassword(ctx, auth.SystemMember, s.cfg.AdminPassword.Reveal())
	if err == nil && !same {
		s.log.Info("ALDS_ADMIN_PASSWORD is not the administrator's password: it counts in a new database alone; `api password` sets another")
	}
	return err
}

// requirePassword refuses, before anything is changed, to make a login whose password
// everybody knows. Standalone has one where it listens on loopback only.
func (s *service) requirePassword(ctx context.Context) error {
	if s.role.standalone && len(exposedOf(s.cfg.Addr, s.cfg.AdminAddr)) == 0 || !s.cfg.AdminPassword.IsZero() && !s.cfg.HasDefaultPassword() {
		return nil
	}
	lacks, err := s.auth.LacksPassword(ctx, auth.SystemMember)
	switch {
	case err != nil && !db.IsNoTable(err):
		return fmt.Errorf("look for the administrator's login: %w", err)
	case lacks || err != nil:
		return fmt.Errorf("this database is new, and ALDS_ADMIN_PASSWORD is not set, or %q: set it to the first password of the member %s "+
			"and migrate again; nothing was changed", defaultPassword, adminUsername)
	}
	return nil
}
