package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/release"
	"github.com/alds-dev/alds/internal/operate/dump"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/sqlerror"
	"github.com/alds-dev/alds/internal/write/seed"
)

// The administrator's login in a new database.
const (
	adminUsername   = "admin"
	defaultPassword = "admin"
)

// Migrate updates the schema, and fills a new database with the well-known assets and the
// administrator's login. A second call changes nothing. If a newer release has migrated the
// database and this release still works with it, Migrate changes nothing either.
func Migrate(ctx context.Context, e Environment, roles ...Role) error {
	i, err := Open(ctx, e, merge(roles))
	if err != nil {
		return err
	}
	defer i.Close()
	return i.Migrate(ctx)
}

// Migrate does the same as the function Migrate, in the database that is already open.
func (i *Installation) Migrate(ctx context.Context) error {
	if err := i.openBox(); err != nil {
		return err
	}
	if err := i.migrate(ctx); err != nil {
		return err
	}
	i.Log.Info("schema is up to date")
	return nil
}

// migrate updates the schema, fills a new database and checks the key. If a newer release has
// migrated the database, it only checks the key, so that it changes no row of that release.
func (i *Installation) migrate(ctx context.Context) error {
	if err := i.requirePassword(ctx); err != nil {
		return err
	}
	if err := i.DB.Migrate(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if err := dump.Finished(ctx, i.DB); err != nil {
		return err
	}
	state, err := i.DB.SchemaState(ctx)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if state.OfNewer() {
		i.Log.Warn("the database is of a newer release, which works with this one: nothing is migrated", "release", release.Number, "database", state.Release)
		return i.checkKey(ctx)
	}
	if err := i.DB.Exclusive(ctx, func() error { return untilKnown(func() error { return i.fill(ctx) }) }); err != nil {
		return err
	}
	if err := i.noteOtherPassword(ctx); err != nil {
		return err
	}
	return i.checkKey(ctx)
}

// untilKnown runs do, which inserts only what is missing. It runs do once more if the connection
// was lost during a commit.
func untilKnown(do func() error) error {
	err := do()
	if errors.Is(err, db.ErrUnknownOutcome) {
		err = do()
	}
	return err
}

// fill inserts the well-known assets and the administrator's login if they are missing.
func (i *Installation) fill(ctx context.Context) error {
	if err := seed.Run(ctx, i.DB, i.model); err != nil {
		return fmt.Errorf("insert the well-known assets: %w", err)
	}
	if err := i.Auth.Ensure(ctx, auth.SystemMember, i.cfg.AdminPassword.Reveal()); err != nil {
		return fmt.Errorf("create the administrator's login: %w", err)
	}
	return nil
}

// noteOtherPassword logs that ALDS_ADMIN_PASSWORD has no effect if the administrator already has
// another password. It does nothing for standalone, which calls it at each start, because it
// computes a slow hash.
func (i *Installation) noteOtherPassword(ctx context.Context) error {
	if i.role.standalone || i.cfg.AdminPassword.IsZero() {
		return nil
	}
	same, err := i.Auth.HasPassword(ctx, auth.SystemMember, i.cfg.AdminPassword.Reveal())
	if err == nil && !same {
		i.Log.Info("ALDS_ADMIN_PASSWORD is not the administrator's password: it is used only for a new database; `api password` sets another password")
	}
	return err
}

// requirePassword returns an error if migrate would create the administrator's login without a
// password or with the default password. Only a standalone that listens on loopback may do so.
// requirePassword itself changes nothing.
func (i *Installation) requirePassword(ctx context.Context) error {
	if i.role.standalone && len(exposedOf(i.cfg.Addr, i.cfg.AdminAddr)) == 0 || !i.cfg.AdminPassword.IsZero() && !i.cfg.HasDefaultPassword() {
		return nil
	}
	lacks, err := i.Auth.LacksPassword(ctx, auth.SystemMember)
	switch {
	case err != nil && !sqlerror.IsNoTable(err):
		return fmt.Errorf("read the administrator's login: %w", err)
	case lacks || err != nil:
		return fmt.Errorf("this database is new, and ALDS_ADMIN_PASSWORD is not set, or %q: set it to the first password of the member %s "+
			"and migrate again; nothing was changed", defaultPassword, adminUsername)
	}
	return nil
}
