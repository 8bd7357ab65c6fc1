package app

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/alds-dev/alds/internal/app/config"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/base/release"
	"github.com/alds-dev/alds/internal/base/tracing"
	"github.com/alds-dev/alds/internal/events/feed"
	"github.com/alds-dev/alds/internal/events/webhook"
	"github.com/alds-dev/alds/internal/httpapi"
	"github.com/alds-dev/alds/internal/jobs"
	"github.com/alds-dev/alds/internal/mcp"
	"github.com/alds-dev/alds/internal/model/catalog"
	"github.com/alds-dev/alds/internal/model/localizer"
	"github.com/alds-dev/alds/internal/operate/admin"
	"github.com/alds-dev/alds/internal/operate/localization"
	"github.com/alds-dev/alds/internal/operate/system"
	"github.com/alds-dev/alds/internal/store/processes"
	"github.com/alds-dev/alds/internal/web/pages"
	"github.com/alds-dev/alds/internal/web/ui"
	"github.com/alds-dev/alds/internal/write/bulk"
)

// service has all parts of a process. Each part is built once.
type service struct {
	*Installation

	public string // base URL as clients see it

	tracer *tracing.Tracer // nil: no traces are sent

	embedded bool // the queue is in this process
	queue    *jobs.Queue
	client   *jobs.Client
	hooks    *webhook.Service      // subscriptions and deliveries, for work that does not depend on the model
	catalog  *catalog.Catalog      // reads the current model
	feed     *feed.Log             // the order of changes
	words    *localizer.Localizer  // texts of the program
	texts    *localization.Service // texts that administrators have set
	async    *bulk.Async           // nil unless the role writes
	slowest  *processes.Slowest    // slowest queries of this process
	process  *processes.Process    // this process in the table of all processes
	system   *system.Service       // state of the installation, for administrators
	api      *httpapi.API
	present  atomic.Pointer[engines] // engines of the current model
	newModel news                    // signals that the current model has changed
	admin    *admin.Server

	adminEnded chan error   // receives the error of the admin listener when it ends
	told       atomic.Int64 // time of the stop signal in Unix nanoseconds; 0: no signal yet

	unwatched *webhook.Unwatched // while no subscription is enabled, writes skip the fan-out
	backlog   *webhook.Meter     // measures the changes that wait for their fan-out
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
	s.unwatched = webhook.NewUnwatched(s.DB)
	s.backlog = webhook.NewMeter(s.DB, s.component("webhook"), s.metrics)
	s.feed = feed.NewLog(s.DB, s.component("feed"))
	s.buildSystem()
	s.words = localizer.New(s.model, s.cfg.Methodology)
	s.texts = localization.New(s.DB, s.words.Languages(), localization.Options{})
	first := s.newEngines(s.model)
	s.hooks = first.hooks
	if first.bulk != nil {
		s.async = bulk.NewAsync(first.bulk, s.Auth, s.client.Accepted, s.component("bulk"))
		s.async.Again, s.async.Memory, s.async.Timeout = s.repeated, s.memory, s.cfg.RequestTimeout
	}
	s.catalog = catalog.New(s.DB, s.model, catalog.Options{Log: s.component("catalog"), OnChange: func(p catalog.Present) { s.use(first.with(p)) }})
	if err := s.retry(ctx, s.catalog.Refresh); err != nil {
		return err
	}
	if s.role.HTTP {
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
	o.Agents = func(api http.RoundTripper) http.Handler {
		return mcp.New(mcp.Options{API: api, URL: "http://localhost/" + s.cfg.Instance, Release: release.Version(), Log: s.component("mcp")}).Handler()
	}
	s.api = httpapi.New(s.served, o)
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

func (s *service) checks() []admin.Check {
	apart := s.DB.Health() // has its own connection, so that checks do not wait for requests
	all := []admin.Check{
		{Name: "database", Run: apart.Writable},
		{Name: "schema", Run: apart.SchemaIsCurrent},
		{Name: "redis", Run: s.pingQueue, Optional: true}, // without Redis, sweeps of the workers find the work
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
