package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/trail"
)

// Run builds the service from the settings in getenv and runs the roles until ctx
// ends. Logs and the welcome go to stderr.
func Run(ctx context.Context, getenv func(string) string, stderr io.Writer, roles ...Role) error {
	ctx = trail.With(ctx, trail.Origin{Address: trail.Server})
	s, err := load(getenv, stderr, merge(roles))
	if err != nil {
		return err
	}
	defer s.close()
	var l listeners
	defer func() { l.close() }()
	if l.admin, err = listenAdmin(s.role, s.cfg.Addr, s.cfg.AdminAddr); err != nil {
		return err
	}
	s.startAdmin(l.admin)
	if err := s.awaitDatabase(ctx); err != nil {
		if ctx.Err() == nil {
			return err
		}
		s.log.Info("stopped before it had started", "err", err)
		return nil
	}
	if err := l.listen(s.role, s.cfg.Addr); err != nil {
		return err
	}
	if err := s.refuseDefaultPassword(ctx, l.exposed()); err != nil {
		return err
	}
	if err := s.build(ctx, l); err != nil {
		return err
	}
	s.admin.SetChecks(s.checks())
	s.announce(l, stderr)
	err = runParts(ctx, s.parts(l), s.cfg.ShutdownGrace, s.log)
	s.log.Info("stopped")
	return err
}

// Migrate brings the schema up to date and fills a new database with the
// well-known assets and the administrator's login. Running it again changes
// nothing.
func Migrate(ctx context.Context, getenv func(string) string, stderr io.Writer, roles ...Role) error {
	s, err := open(ctx, getenv, stderr, merge(roles))
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.openBox(); err != nil {
		return err
	}
	if err := s.migrate(ctx); err != nil {
		return err
	}
	s.log.Info("schema is up to date")
	return nil
}

// prepare checks the schema and the key of the database. Only standalone brings
// the schema up to date.
func (s *service) prepare(ctx context.Context) error {
	if s.role.standalone {
		return s.migrate(ctx)
	}
	if err := s.ready(ctx); err != nil {
		return err
	}
	return s.checkKey(ctx)
}

func (s *service) ready(ctx context.Context) error {
	if err := s.db.SchemaIsCurrent(ctx); err != nil {
		return fmt.Errorf("the database is not ready: %w", err)
	}
	return nil
}

// refuseDefaultPassword refuses to run a service that other machines can reach
// while the administrator has the default password.
func (s *service) refuseDefaultPassword(ctx context.Context, exposed []string) error {
	if len(exposed) == 0 {
		return nil
	}
	isDefault, err := s.auth.HasPassword(ctx, auth.SystemMember, defaultPassword)
	if err != nil {
		return fmt.Errorf("look at the administrator's password: %w", err)
	}
	if isDefault {
		return errors.New("refusing to listen on " + strings.Join(exposed, ", ") + " while the password of admin is " +
			`"` + defaultPassword + `": change it, or listen on 127.0.0.1 only`)
	}
	return nil
}

// announce logs what runs, and prints the welcome of standalone.
func (s *service) announce(l listeners, stderr io.Writer) {
	attrs := []any{"role", s.role.name, "version", version(), "admin", l.admin.Addr().String()}
	if l.http != nil {
		attrs = append(attrs, "listen", l.http.Addr().String(), "base_url", s.public)
	}
	s.log.Info("started", append(attrs, slog.Any("uses", s.uses()))...)
	if s.role.standalone {
		local := s.cfg
		local.PublicURL = ""
		fmt.Fprint(stderr, s.welcome(local.BaseURL(l.http.Addr().String())))
	}
}

// uses describes the settings, secrets redacted, without those that the line has
// as attributes.
func (s *service) uses() []string {
	return slices.DeleteFunc(s.cfg.Describe(), func(setting string) bool {
		return strings.HasPrefix(setting, "listens on ") || strings.HasPrefix(setting, "base URL ")
	})
}
