package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/app/config"
	"github.com/alds-dev/alds/internal/base/release"
	"github.com/alds-dev/alds/internal/base/tracing"
	"github.com/alds-dev/alds/internal/store/processes"
)

// Run builds the service and runs the roles until ctx ends.
func Run(ctx context.Context, e Environment, roles ...Role) error {
	ctx = trail.With(ctx, trail.Origin{Address: trail.Server})
	i, err := load(e, merge(roles), config.FromEnv)
	if err != nil {
		return err
	}
	s := &service{Installation: i, slowest: processes.NewSlowest(nil)}
	defer s.Close()
	if err := s.takeFolder(); err != nil {
		return err
	}
	if err := s.openTracer(ctx); err != nil {
		return err
	}
	ctx = tracing.With(ctx, s.tracer)
	var l listeners
	defer func() { l.close() }()
	if l.admin, err = listenAdmin(s.role, s.cfg.Addr, s.cfg.AdminAddr); err != nil {
		return err
	}
	s.startAdmin(l.admin)
	if err := s.start(ctx, &l); err != nil {
		if ctx.Err() == nil {
			return err
		}
		s.Log.Info("stopped before the start was complete", "err", err)
		return nil
	}
	s.admin.SetChecks(s.checks())
	s.announce(l, e.Stderr)
	ctx, cancel := s.delayed(ctx, e.later)
	defer cancel()
	context.AfterFunc(ctx, func() { s.told.Store(time.Now().UnixNano()) })
	err = runParts(ctx, s.parts(l), s.cfg.ShutdownGrace, s.Log)
	s.Log.Info("stopped")
	return err
}

// start opens the database and builds the engines. It waits for a database that does not
// answer.
func (s *service) start(ctx context.Context, l *listeners) error {
	if err := s.awaitDatabase(ctx); err != nil {
		return err
	}
	s.tellEngine(ctx)
	if err := l.listen(s.role, s.cfg.Addr); err != nil {
		return err
	}
	if err := s.refuseDefaultPassword(ctx, l.exposed()); err != nil {
		return err
	}
	return s.build(ctx, *l)
}

// tellEngine logs the kind and mode of the database server, and what they mean for alds.
func (s *service) tellEngine(ctx context.Context) {
	switch e, err := s.DB.Engine(ctx); {
	case err != nil:
		s.Log.Warn("the kind of database server is unknown", "err", err)
	case !e.Writes:
		s.Log.Warn("the database takes no writes", "server", e.Server, "mode", e.Mode, "means", e.Means)
	default:
		s.Log.Info("the database", "server", e.Server, "mode", e.Mode, "means", e.Means)
	}
}

// delayed returns a context that ends with ctx, or ALDS_SHUTDOWN_DELAY later if the role
// serves requests. During the delay the process serves requests but reports that it is not
// ready, so that load balancers notice before connections are refused.
func (s *service) delayed(ctx context.Context, after func(time.Duration, func())) (context.Context, context.CancelFunc) {
	if !s.role.HTTP || s.cfg.ShutdownDelay == 0 {
		return context.WithCancel(ctx)
	}
	if after == nil {
		after = func(d time.Duration, fn func()) { time.AfterFunc(d, fn) }
	}
	later, cancel := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		s.admin.Drain()
		s.api.Drain()
		s.Log.Info("not ready any more, stopping soon", "delay_s", s.cfg.ShutdownDelay.Seconds())
		after(s.cfg.ShutdownDelay, cancel)
	})
	return later, cancel
}

// prepare checks the schema and the key of the database. Only standalone updates the schema.
func (s *service) prepare(ctx context.Context) error {
	if s.role.standalone {
		return s.migrate(ctx)
	}
	if err := s.Ready(ctx); err != nil {
		return err
	}
	return s.checkKey(ctx)
}

// refuseDefaultPassword returns an error if other machines can reach the service and the
// administrator has the default password. exposed has the addresses that other machines can reach.
func (s *service) refuseDefaultPassword(ctx context.Context, exposed []string) error {
	if len(exposed) == 0 {
		return nil
	}
	var isDefault bool
	err := s.retry(ctx, func(ctx context.Context) (err error) {
		isDefault, err = s.Auth.HasPassword(ctx, auth.SystemMember, defaultPassword)
		return err
	})
	if err != nil {
		return fmt.Errorf("check the administrator's password: %w", err)
	}
	if !isDefault {
		return nil
	}
	with := API.Name
	if s.role.standalone {
		with = s.role.Name
	}
	return fmt.Errorf("refusing to listen on %s while the password of %s is %q: set another with `%s password --member %[2]s`, "+
		"or listen on 127.0.0.1 only (ALDS_ADMIN_PASSWORD is used only for a new database)", strings.Join(exposed, ", "), adminUsername, defaultPassword, with)
}

// announce logs the start, and prints the welcome text of standalone.
func (s *service) announce(l listeners, stderr io.Writer) {
	attrs := []any{"role", s.role.Name, "version", release.Version(), "admin", l.admin.Addr().String()}
	if l.http != nil {
		attrs = append(attrs, "listen", l.http.Addr().String(), "base_url", s.public)
	}
	s.Log.Info("started", append(attrs, slog.Any("uses", s.uses()))...)
	if s.role.standalone {
		local := s.cfg
		local.PublicURL = ""
		fmt.Fprint(stderr, s.welcome(local.BaseURL(l.http.Addr().String())))
	}
}

// uses describes the settings for the start line, with secrets redacted. It leaves out the settings
// that the start line has as separate attributes.
func (s *service) uses() []string {
	return slices.DeleteFunc(s.cfg.Describe(), func(setting string) bool {
		return strings.HasPrefix(setting, "listens on ") || strings.HasPrefix(setting, "base URL ")
	})
}
