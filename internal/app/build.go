package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/access/secret"
	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/app/config"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/base/tracing"
	"github.com/alds-dev/alds/internal/events/feed"
	"github.com/alds-dev/alds/internal/events/webhook"
	"github.com/alds-dev/alds/internal/httpapi"
	"github.com/alds-dev/alds/internal/jobs"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/model/catalog"
	"github.com/alds-dev/alds/internal/model/localizer"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/operate/admin"
	"github.com/alds-dev/alds/internal/operate/localization"
	"github.com/alds-dev/alds/internal/operate/system"
	"github.com/alds-dev/alds/internal/store/blob"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/processes"
	"github.com/alds-dev/alds/internal/web/pages"
	"github.com/alds-dev/alds/internal/web/ui"
	"github.com/alds-dev/alds/internal/write/bulk"
)

// service has all parts of a process. Each part is built once.
type service struct {
	role    Role
	cfg     config.Config
	log     *slog.Logger
	metrics *prometheus.Registry
	public  string // base URL as clients see it

	memory *memory.Budget
	tracer *tracing.Tracer // nil: no traces are sent

	db       *db.DB
	trail    *trail.Log
	box      *secret.Box // nil: no key for stored secrets is set or needed
	model    *meta.Model // of the program, without custom attributes
	auth     *auth.Service
	embedded bool // the queue is in this process
	queue    *jobs.Queue
	client   *jobs.Client
	contents *blob.Store           // the bytes of attachments and images
	bucket   blob.Bucket           // stores the contents outside of the database; nil: the database stores them
	hooks    *webhook.Service      // for work that is the same for all models
	catalog  *catalog.Catalog      // reads the current model
	feed     *feed.Log             // the order of changes
	words    *localizer.Localizer  // texts of the program
	texts    *localization.Service // texts that administrators have set
	async    *bulk.Async           // nil unless the role writes
	slowest  *processes.Slowest    // slowest queries of this process
	process  *processes.Process    // this process in the table of all processes
	system   *system.Service       // state of the installation, for administrators
	api      *httpapi.API
	present  atomic.Pointer[engines] // set of the current model
	newModel news                    // signals that the current model has changed
	admin    *admin.Server

	adminEnded chan error   // gets the error of the admin listener when it ends
	told       atomic.Int64 // time of the stop signal; UTC nanoseconds, 0: no signal yet

	unwatched *webhook.Unwatched // while no subscription is enabled, writes skip the fan-out
	backlog   *webhook.Meter     // measures the changes that wait for their fan-out

	closers []func() error // in the order of opening; close calls them in reverse
}

// open reads the settings and opens the parts that every command needs: the database, the
// audit trail and the logins. It does not retry.
func open(ctx context.Context, o outside, role Role) (*service, error) {
	s, err := load(o, role, config.ForCommand)
	if err != nil {
		return nil, err
	}
	if err := s.connect(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// load reads the settings and builds the parts that need no database.
func load(o outside, role Role, read func(getenv func(string) string, standalone bool) (config.Config, error)) (*service, error) {
	cfg, err := read(o.getenv, role.standalone)
	log := newLogger(o.stderr, cfg.LogLevel)
	for _, unknown := range config.UnknownNames(o.names) {
		log.Warn("an environment variable looks like a setting but is not one", "name", unknown.Name, "nearest", unknown.Nearest)
	}
	if err != nil {
		return nil, fmt.Errorf("settings:\n%w", err)
	}
	if role.works && !role.http {
		memory.CollectLate()
	}
	for _, w := range cfg.Warnings {
		log.Warn("warning about a setting", "warning", w.Text, "setting", w.Setting, "parameters", w.Parameters)
	}
	return &service{role: role, cfg: cfg, log: log, metrics: newRegistry(role.name), model: meta.Default(), memory: newBudget(cfg.BodyMemory), slowest: processes.NewSlowest(nil)}, nil
}

// connect opens the database, the audit trail and the logins.
// Errors: fault.Transient if the database does not answer.
func (s *service) connect(ctx context.Context) (err error) {
	if err := s.openDB(ctx); err != nil {
		return err
	}
	s.trail = trail.New(s.db, s.model, trail.Options{Log: s.component("trail"), Metrics: s.metrics})
	s.auth, err = auth.New(s.db.Lookup(), s.model, auth.Options{Audit: s.trail, Metrics: s.metrics})
	return err
}

func (s *service) openDB(ctx context.Context) (err error) {
	if s.role.standalone {
		if err := os.MkdirAll(s.cfg.DataDir, 0o700); err != nil {
			return fmt.Errorf("make the data folder (ALDS_DATA_DIR): %w", err)
		}
	}
	o := db.Options{Log: s.component("db"), MaxConns: s.cfg.DBConns, WriteLimit: s.cfg.DBWriteLimit}
	if s.role.http {
		o.Replicas = db.Replicas{Addresses: s.cfg.Replicas, Begin: catalog.ReadElsewhere, Position: catalog.Position, Progress: catalog.Progress}
	}
	s.db, err = db.Open(ctx, s.cfg.Database, o)
	if err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	s.closers = append(s.closers, s.db.Close)
	registerDB(s.metrics, s.db)
	return nil
}

// build builds the queue, the engines and the API.
func (s *service) build(ctx context.Context, l listeners) error {
	s.public = s.cfg.BaseURL(s.cfg.Addr)
	if l.http != nil {
		s.public = s.cfg.BaseURL(l.http.Addr().String())
	}
	if err := s.openQueue(); err != nil {
		return err
	}
	if err := s.openContents(); err != nil {
		return err
	}
	s.newModel = make(news, 1)
	s.unwatched = webhook.NewUnwatched(s.db)
	s.backlog = webhook.NewMeter(s.db, s.component("webhook"), s.metrics)
	s.feed = feed.NewLog(s.db, s.component("feed"))
	s.buildSystem()
	s.words = localizer.New(s.model, s.cfg.Methodology)
	s.texts = localization.New(s.db, s.words.Languages(), localization.Options{})
	first := s.newEngines(s.model)
	s.hooks = first.hooks
	if first.bulk != nil {
		s.async = bulk.NewAsync(first.bulk, s.auth, s.client.Accepted, s.component("bulk"))
		s.async.Again, s.async.Memory, s.async.Timeout = s.repeated, s.memory, s.cfg.RequestTimeout
	}
	s.catalog = catalog.New(s.db, s.model, catalog.Options{Log: s.component("catalog"), OnChange: func(p catalog.Present) { s.use(first.with(p)) }})
	if err := s.retry(ctx, s.catalog.Refresh); err != nil {
		return err
	}
	if s.role.http {
		return s.buildAPI(ctx, l.http)
	}
	return nil
}

// buildAPI builds the API. A standalone on loopback may have the default password, so it
// answers only requests for its own host names.
func (s *service) buildAPI(ctx context.Context, l net.Listener) error {
	o := httpapi.Options{
		Instance: s.cfg.Instance, MaxBody: s.cfg.MaxBody, MaxFile: s.cfg.MaxAttachment, Timeout: s.cfg.RequestTimeout, Public: s.public, Open: s.cfg.OpenMetadata,
		Loopback: s.role.standalone && config.IsLoopback(l.Addr().String()),
		Scrape:   httpapi.Scrape{Token: s.cfg.MetricsToken.Reveal(), Metrics: admin.Metrics(s.metrics)},
		Log:      s.component("httpapi"), Metrics: s.metrics, Tracer: s.tracer,
	}
	if err := s.setLimits(ctx, &o); err != nil {
		return err
	}
	o.Pages = func(api http.RoundTripper) http.Handler {
		return pages.New(api, ui.Options{Instance: s.cfg.Instance, Public: s.public, Greets: s.role.standalone, Log: s.component("pages")})
	}
	s.api = httpapi.New(s.served, o)
	return nil
}

// openContents opens the store of attachments and images.
func (s *service) openContents() (err error) {
	if s.contents != nil {
		return nil
	}
	if address := s.cfg.BlobURL.Reveal(); address != "" {
		if s.bucket, err = blob.OpenBucket(address); err != nil {
			return fmt.Errorf("open the store of attachments (ALDS_BLOB_URL): %w", err)
		}
	}
	s.contents = blob.New(s.db, blob.Options{Bucket: s.bucket, Log: s.component("blob")})
	return nil
}

// openQueue opens the queue. If REDIS_URL is not set, it starts the embedded queue.
func (s *service) openQueue() (err error) {
	url := s.cfg.Redis
	if url == "" {
		var stop func()
		if url, stop, err = s.role.startQueue(); err != nil {
			return fmt.Errorf("start the embedded queue: %w", err)
		}
		s.embedded = true
		s.closers = append(s.closers, func() error { stop(); return nil })
	}
	if s.queue, err = jobs.Open(url, s.component("jobs"), s.metrics); err != nil {
		return fmt.Errorf("open the queue: %w", err)
	}
	s.closers = append(s.closers, s.queue.Close)
	s.client = jobs.NewClient(s.queue)
	return nil
}

// openBox reads the key for stored secrets. Standalone creates a key file if there is none. For
// a command without a key, s.box stays nil.
func (s *service) openBox() (err error) {
	key := []byte(s.cfg.SecretKey.Reveal())
	if s.cfg.SecretKey.IsZero() && s.cfg.SecretKeyFile == "" {
		return nil
	}
	if s.cfg.SecretKeyFile != "" {
		if key, err = secret.KeyFile(s.cfg.SecretKeyFile); err != nil {
			return fmt.Errorf("the key for stored secrets: %w", err)
		}
	}
	s.box, err = secret.New(slices.Collect(slices.Chunk(key, secret.KeySize))...)
	return err
}

// checkKey returns an error if the key cannot decrypt the secrets of the database. The first
// role that starts on a new database stores a check value of its key.
func (s *service) checkKey(ctx context.Context) error {
	if s.box == nil {
		return nil
	}
	err := webhook.CheckKey(ctx, s.db, s.box, s.component("webhook"))
	if !errors.Is(err, webhook.ErrKey) {
		return err
	}
	key, where := "ALDS_SECRET_KEY", "in ALDS_SECRET_KEY"
	if s.cfg.SecretKeyFile != "" {
		key, where = "the key in "+s.cfg.SecretKeyFile, "in that file"
	}
	return fmt.Errorf("%s is not the key with which the secrets in this database are sealed "+
		"(authorization headers and signing secrets of webhook subscriptions): put the key that was used before %s; "+
		"docs/operations.md says what to do when it is lost", key, where)
}

func (s *service) checks() []admin.Check {
	apart := s.db.Health() // has its own connection, so that checks do not wait for requests
	all := []admin.Check{
		{Name: "database", Run: apart.Writable},
		{Name: "schema", Run: apart.SchemaIsCurrent},
		{Name: "redis", Run: s.pingQueue, Optional: true}, // without Redis, the sweep still finds the work
	}
	if s.bucket != nil {
		// Everything else works without attachments.
		all = append(all, admin.Check{Name: "attachments", Run: s.contents.Ping, Optional: true})
	}
	return all
}

func (s *service) pingQueue(ctx context.Context) error {
	if err := s.queue.Ping(ctx); err != nil {
		return fault.Transientf(err, "redis does not answer")
	}
	return nil
}

// close closes all parts that were opened, in reverse order.
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
