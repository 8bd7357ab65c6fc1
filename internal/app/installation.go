package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/access/secret"
	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/app/config"
	"github.com/alds-dev/alds/internal/events/webhook"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/model/catalog"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/operate/dump"
	"github.com/alds-dev/alds/internal/store/blob"
	"github.com/alds-dev/alds/internal/store/db"
)

// Environment has the environment variables and the error output of a process.
type Environment struct {
	Getenv func(string) string
	Names  []string  // names of all variables; a name that looks like a setting but is not one is logged
	Stderr io.Writer // gets the log, and the welcome text of standalone

	later func(time.Duration, func()) // calls a function after a time; nil: time.AfterFunc
}

// Installation has the parts that roles and commands share: the settings, the database and the
// logins.
type Installation struct {
	DB   *db.DB
	Auth *auth.Service
	Log  *slog.Logger

	role     Role
	cfg      config.Config
	metrics  *prometheus.Registry
	memory   *memory.Budget // memory budget of requests
	model    *meta.Model    // model of the program, without custom attributes
	trail    *trail.Log
	box      *secret.Box // nil: no key for stored secrets is set or needed
	contents *blob.Store // the bytes of attachments and images
	bucket   blob.Bucket // stores the contents outside of the database; nil: the database stores them

	closers []func() error // in the order of opening; Close calls them in reverse
}

// Open reads the settings and opens the database for a command. It does not wait for a database
// that does not answer. The caller must call Close.
func Open(ctx context.Context, e Environment, role Role) (*Installation, error) {
	i, err := load(e, role, config.ForCommand)
	if err != nil {
		return nil, err
	}
	if err := i.connect(ctx); err != nil {
		i.Close()
		return nil, err
	}
	return i, nil
}

// load reads the settings and builds the parts that need no database.
func load(e Environment, role Role, read func(getenv func(string) string, standalone bool) (config.Config, error)) (*Installation, error) {
	cfg, err := read(e.Getenv, role.standalone)
	log := newLogger(e.Stderr, cfg.LogLevel)
	for _, unknown := range config.UnknownNames(e.Names) {
		log.Warn("an environment variable looks like a setting but is not one", "name", unknown.Name, "nearest", unknown.Nearest)
	}
	if err != nil {
		return nil, fmt.Errorf("settings:\n%w", err)
	}
	if role.works && !role.HTTP {
		memory.CollectLate()
	}
	for _, w := range cfg.Warnings {
		log.Warn("warning about a setting", "warning", w.Text, "setting", w.Setting, "parameters", w.Parameters)
	}
	return &Installation{role: role, cfg: cfg, Log: log, metrics: newRegistry(role.Name), model: meta.Default(), memory: newBudget(cfg.BodyMemory)}, nil
}

// connect opens the database, the audit trail and the logins.
// Errors: fault.Transient if the database does not answer.
func (i *Installation) connect(ctx context.Context) (err error) {
	if err := i.openDB(ctx); err != nil {
		return err
	}
	i.trail = trail.New(i.DB, i.model, trail.Options{Log: i.component("trail"), Metrics: i.metrics})
	i.Auth, err = auth.New(i.DB.Lookup(), i.model, auth.Options{Audit: i.trail, Metrics: i.metrics})
	return err
}

func (i *Installation) openDB(ctx context.Context) (err error) {
	if i.role.standalone {
		if err := os.MkdirAll(i.cfg.DataDir, 0o700); err != nil {
			return fmt.Errorf("make the data folder (ALDS_DATA_DIR): %w", err)
		}
	}
	o := db.Options{Log: i.component("db"), MaxConns: i.cfg.DBConns, WriteLimit: i.cfg.DBWriteLimit}
	if i.role.HTTP {
		o.Replicas = db.Replicas{Addresses: i.cfg.Replicas, Begin: catalog.ReadElsewhere, Position: catalog.Position, Progress: catalog.Progress}
	}
	i.DB, err = db.Open(ctx, i.cfg.Database, o)
	if err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	i.closers = append(i.closers, i.DB.Close)
	registerDB(i.metrics, i.DB)
	return nil
}

// openContents opens the store of attachments and images.
func (i *Installation) openContents() (err error) {
	if i.contents != nil {
		return nil
	}
	if address := i.cfg.BlobURL.Reveal(); address != "" {
		if i.bucket, err = blob.OpenBucket(address); err != nil {
			return fmt.Errorf("open the store of attachments (ALDS_BLOB_URL): %w", err)
		}
	}
	i.contents = blob.New(i.DB, blob.Options{Bucket: i.bucket, Log: i.component("blob")})
	return nil
}

// openBox reads the key for stored secrets. Standalone creates a key file if there is none. For
// a command without a key, i.box stays nil.
func (i *Installation) openBox() (err error) {
	key := []byte(i.cfg.SecretKey.Reveal())
	if i.cfg.SecretKey.IsZero() && i.cfg.SecretKeyFile == "" {
		return nil
	}
	if i.cfg.SecretKeyFile != "" {
		if key, err = secret.KeyFile(i.cfg.SecretKeyFile); err != nil {
			return fmt.Errorf("the key for stored secrets: %w", err)
		}
	}
	i.box, err = secret.New(slices.Collect(slices.Chunk(key, secret.KeySize))...)
	return err
}

// checkKey returns an error if the key cannot decrypt the secrets of the database. The first
// role that starts on a new database stores a check value of its key.
func (i *Installation) checkKey(ctx context.Context) error {
	if i.box == nil {
		return nil
	}
	err := webhook.CheckKey(ctx, i.DB, i.box, i.component("webhook"))
	if !errors.Is(err, webhook.ErrKey) {
		return err
	}
	key, where := "ALDS_SECRET_KEY", "in ALDS_SECRET_KEY"
	if i.cfg.SecretKeyFile != "" {
		key, where = "the key in "+i.cfg.SecretKeyFile, "in that file"
	}
	return fmt.Errorf("%s is not the key with which the secrets in this database are sealed "+
		"(authorization headers and signing secrets of webhook subscriptions): put the key that was used before %s; "+
		"docs/operations.md says what to do when it is lost", key, where)
}

// Key returns the key for stored secrets, or nil if none is set.
// Errors: a key that cannot decrypt the secrets of the database.
func (i *Installation) Key(ctx context.Context) (*secret.Box, error) {
	if err := i.openBox(); err != nil {
		return nil, err
	}
	return i.box, i.checkKey(ctx)
}

// Ready returns an error if the database needs a migration, or if its restore has not finished.
func (i *Installation) Ready(ctx context.Context) error {
	if err := i.DB.SchemaIsCurrent(ctx); err != nil {
		return fmt.Errorf("the database is not ready: %w", err)
	}
	if err := dump.Finished(ctx, i.DB); err != nil {
		return fmt.Errorf("the database is not ready: %w", err)
	}
	return nil
}

// Close closes all parts that were opened, in reverse order.
func (i *Installation) Close() {
	for _, closePart := range slices.Backward(i.closers) {
		if err := closePart(); err != nil {
			i.Log.Warn("close failed", "err", err)
		}
	}
	i.closers = nil
}

func (i *Installation) component(name string) *slog.Logger { return i.Log.With("component", name) }

func newLogger(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
}
