package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/alds-dev/alds/internal/admin"
	"github.com/alds-dev/alds/internal/asset"
	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/bulk"
	"github.com/alds-dev/alds/internal/config"
	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/find"
	"github.com/alds-dev/alds/internal/httpapi"
	"github.com/alds-dev/alds/internal/jobs"
	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/rest"
	"github.com/alds-dev/alds/internal/roles"
	"github.com/alds-dev/alds/internal/secret"
	"github.com/alds-dev/alds/internal/tags"
	"github.com/alds-dev/alds/internal/webhook"
)

// service is everything a process is made of, built once.
type service struct {
	role    Role
	cfg     config.Config
	log     *slog.Logger
	metrics *prometheus.Registry
	public  string // base URL as others see it

	db     *db.DB
	model  *meta.Model
	auth   *auth.Service
	embed  *jobs.Embed // nil unless the queue is embedded
	queue  *jobs.Queue
	client *jobs.Client
	hooks  *webhook.Service
	async  *bulk.Async // of the roles that write
	api    *httpapi.API
	admin  *admin.Server

	closers []func() error // in the order of opening
}

// open reads the settings and opens what every command needs: the database,
// the model and the logins.
func open(ctx context.Context, getenv func(string) string, stderr io.Writer, role Role) (*service, error) {
	cfg, err := config.FromEnv(getenv, role.standalone)
	if err != nil {
		return nil, fmt.Errorf("settings:\n%w", err)
	}
	s := &service{role: role, cfg: cfg, log: newLogger(stderr, cfg.LogLevel), metrics: newRegistry(), model: meta.Default()}
	if err := s.openDB(ctx); err != nil {
		return nil, err
	}
	if s.auth, err = auth.New(s.db, s.model, auth.Options{Metrics: s.metrics}); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *service) openDB(ctx context.Context) (err error) {
	if s.role.standalone {
		if err := os.MkdirAll(s.cfg.DataDir, 0o700); err != nil {
			return fmt.Errorf("make the data folder (ALDS_DATA_DIR): %w", err)
		}
	}
	s.db, err = db.Open(ctx, s.cfg.Database, db.Options{
		Log: s.component("db"), MaxConns: s.cfg.DBConns, WriteLimit: s.cfg.DBWriteLimit,
	})
	if err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	s.closers = append(s.closers, s.db.Close)
	registerDB(s.metrics, s.db)
	return nil
}

// build makes the engines and edges, floor by floor.
func (s *service) build(l listeners) error {
	s.public = s.cfg.BaseURL(s.cfg.Addr)
	if l.http != nil {
		s.public = s.cfg.BaseURL(l.http.Addr().String())
	}
	box, err := s.box()
	if err != nil {
		return err
	}
	if err := s.openQueue(); err != nil {
		return err
	}
	finder := find.New(s.db, s.model)
	finder.Register(s.metrics)
	s.hooks = webhook.New(s.db, s.model, webhook.Options{
		Find: finder, Actors: s.auth, Box: box, Public: s.public, MaxEnabled: s.cfg.WebhookMaxEnabled,
		DisableAfter: s.cfg.WebhookDisableAfter, Keep: s.cfg.WebhookKeep,
		Log: s.component("webhook"), Metrics: s.metrics,
	})
	if s.role.http || s.role.works {
		s.buildWrites(finder)
	}
	s.admin = admin.New(s.checks(), s.metrics, s.component("admin"))
	return nil
}

// buildWrites makes what changes assets: the worker's part of it carries out
// accepted requests, and the api is what clients speak to.
func (s *service) buildWrites(finder *find.Finder) {
	assets := asset.New(s.db, s.model, s.auth, committed{s.auth, s.client}, s.component("asset"))
	assets.Ledger.Keep = s.cfg.IdempotencyKeep
	assets.MaxAssets, assets.Hid = s.cfg.MaxAssets, s.auth.Hid
	engine := bulk.New(assets, finder)
	engine.MaxCommands, engine.MaxAssets = s.cfg.MaxCommands, s.cfg.MaxAssets
	engine.Register(s.metrics)
	s.async = bulk.NewAsync(engine, s.auth, s.client.Accepted, s.component("bulk"))
	if !s.role.http {
		return
	}
	s.api = httpapi.New(httpapi.Engines{
		Credentials: s.auth,
		Bulk:        commands{engine, s.async},
		Queries:     reader{s.db, finder},
		Writes:      writes{rest.New(assets, finder)},
		Roles:       roles.New(s.db, s.model, finder),
		Tags:        tags.New(assets),
		Webhooks:    webhooks{s.hooks},
	}, httpapi.Options{
		Instance: s.cfg.Instance, MaxBody: s.cfg.MaxBody, Timeout: s.cfg.RequestTimeout,
		Log: s.component("httpapi"), Metrics: s.metrics,
	})
}

// openQueue opens the queue, embedded when no address is given.
func (s *service) openQueue() (err error) {
	url := s.cfg.Redis
	if url == "" {
		if s.embed, err = jobs.Embedded(); err != nil {
			return fmt.Errorf("start the embedded queue: %w", err)
		}
		s.closers = append(s.closers, func() error { s.embed.Close(); return nil })
		url = s.embed.URL()
	}
	if s.queue, err = jobs.Open(url, s.component("jobs"), s.metrics); err != nil {
		return fmt.Errorf("open the queue: %w", err)
	}
	s.closers = append(s.closers, s.queue.Close)
	s.client = jobs.NewClient(s.queue)
	return nil
}

// box seals what is stored encrypted; standalone makes its own key.
func (s *service) box() (*secret.Box, error) {
	if s.cfg.SecretKeyFile == "" {
		return secret.New([]byte(s.cfg.SecretKey.Reveal()))
	}
	key, err := secret.KeyFile(s.cfg.SecretKeyFile)
	if err != nil {
		return nil, fmt.Errorf("the key for stored secrets: %w", err)
	}
	return secret.New(key)
}

func (s *service) checks() []admin.Check {
	return []admin.Check{
		{Name: "database", Run: s.db.Ping},
		{Name: "schema", Run: s.db.SchemaIsCurrent},
		{Name: "redis", Run: s.pingQueue, Optional: true}, // without it the sweep does the work
	}
}

func (s *service) pingQueue(ctx context.Context) error {
	if err := s.queue.Ping(ctx); err != nil {
		return fault.Transientf(err, "redis does not answer")
	}
	return nil
}

// close closes what was opened, the last first.
func (s *service) close() {
	for i := len(s.closers) - 1; i >= 0; i-- {
		if err := s.closers[i](); err != nil {
			s.log.Warn("close failed", "err", err)
		}
	}
	s.closers = nil
}

func (s *service) component(name string) *slog.Logger { return s.log.With("component", name) }

func newLogger(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
}
