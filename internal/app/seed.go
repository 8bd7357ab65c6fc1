package app

import (
	"context"
	"fmt"

	"github.com/alds-dev/alds/internal/asset"
	"github.com/alds-dev/alds/internal/auth"
)

// The administrator's login in a new database.
const (
	adminUsername   = "admin"
	defaultPassword = "admin"
)

// migrate brings the schema up to date, fills a new database and checks the key.
func (s *service) migrate(ctx context.Context) error {
	if err := s.db.Migrate(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if err := asset.Seed(ctx, s.db, s.model); err != nil {
		return fmt.Errorf("insert the well-known assets: %w", err)
	}
	if err := s.auth.Ensure(ctx, auth.SystemMember, s.cfg.AdminPassword.Reveal()); err != nil {
		return fmt.Errorf("make the administrator's login: %w", err)
	}
	return s.checkKey(ctx)
}
