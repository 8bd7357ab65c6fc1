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

// migrate updates the schema, fills a new database and checks the key. If a newer release has
// migrated the database, it only checks the key, so that it changes no row of that release.
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

// fill inserts the well-known assets and the administrator's login if they are missing.
func (s *service) fill(ctx context.Context) error {
	if err := asset.Seed(ctx, s.db, s.model); err != nil {
		return fmt.Errorf("insert the well-known assets: %w", err)
	}
	if err := s.auth.Ensure(ctx, auth.SystemMember, s.cfg.AdminPassword.Reveal()); err != nil {
		return fmt.Errorf("create the administrator's login: %w", err)
	}
	return nil
}

// noteOtherPassword logs that ALDS_ADMIN_PASSWORD has no effect if the administrator already
// has another password. It computes a slow hash, so standalone does not call it at each start.
func (s *service) noteOtherPassword(ctx context.Context) error {
	if s.role.standalone || s.cfg.AdminPassword.IsZero() {
		return nil
	}
	same, err := s.auth.HasPassword(ctx, auth.SystemMember, s.cfg.AdminPassword.Reveal())
	if err == nil && !same {
		s.log.Info("ALDS_ADMIN_PASSWORD is not the administrator's password: it is used only for a new database; `api password` sets another")
	}
	return err
}

// requirePassword returns an error if migrate would create the administrator's login without a
// password or with the default password. Only a standalone that listens on loopback may do so.
// It changes nothing.
func (s *service) requirePassword(ctx context.Context) error {
	if s.role.standalone && len(exposedOf(s.cfg.Addr, s.cfg.AdminAddr)) == 0 || !s.cfg.AdminPassword.IsZero() && !s.cfg.HasDefaultPassword() {
		return nil
	}
	lacks, err := s.auth.LacksPassword(ctx, auth.SystemMember)
	switch {
	case err != nil && !db.IsNoTable(err):
		return fmt.Errorf("read the administrator's login: %w", err)
	case lacks || err != nil:
		return fmt.Errorf("this database is new, and ALDS_ADMIN_PASSWORD is not set, or %q: set it to the first password of the member %s "+
			"and migrate again; nothing was changed", defaultPassword, adminUsername)
	}
	return nil
}
