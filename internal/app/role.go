package app

import (
	"context"
	"net"
	"time"

	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/events/delivery"
	"github.com/alds-dev/alds/internal/jobs"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/operate/admin"
	"github.com/alds-dev/alds/internal/query/history"
	"github.com/alds-dev/alds/internal/write/purge"
	"github.com/alds-dev/alds/internal/write/requests"
)

// Role is the work of a process.
type Role struct {
	Name  string
	About string // a sentence for --help
	HTTP  bool   // serves the interface

	works      bool // fans out changes, delivers events, executes accepted requests
	schedules  bool // runs periodic work
	standalone bool // uses SQLite and an embedded queue, unless other addresses are set

	startQueue StartQueue // nil unless standalone
}

// StartQueue starts a Redis within the process. It returns the address and a function that
// stops it.
type StartQueue func() (url string, stop func(), err error)

// The roles that run in separate processes.
var (
	API       = Role{Name: "api", About: "Without a command, serves the HTTP interface.", HTTP: true}
	Worker    = Role{Name: "worker", About: "Fans changes out to subscriptions, delivers the events and executes accepted requests.", works: true}
	Scheduler = Role{Name: "scheduler", About: "Does the periodic work. You can run several at the same time.", schedules: true}
)

// StandaloneWith returns a role that does the work of the three others in one process, on SQLite
// and an embedded queue. The queue is started by the parameter start, so that only the program
// standalone links the queue.
func StandaloneWith(start StartQueue) Role {
	return Role{
		Name: "standalone", About: "Without a command, runs alds in one process, on a SQLite file and an embedded queue.",
		HTTP: true, works: true, schedules: true, standalone: true, startQueue: start,
	}
}

// merge returns one role that does the work of all roles.
func merge(roles []Role) Role {
	if len(roles) == 1 {
		return roles[0]
	}
	var all Role
	for _, r := range roles {
		if all.Name != "" {
			all.Name += "+"
		}
		all.Name += r.Name
		all.HTTP = all.HTTP || r.HTTP
		all.works = all.works || r.works
		all.schedules = all.schedules || r.schedules
		all.standalone = all.standalone || r.standalone
		if r.startQueue != nil {
			all.startQueue = r.startQueue
		}
	}
	return all
}

// The periods of the scheduler's work.
const (
	prunePeriod   = 10 * time.Second // deletes old receipts and deliveries, and disables failing subscriptions
	purgePeriod   = 10 * time.Second // removes the values of deleted custom attributes
	historyPeriod = time.Minute      // removes history that is older than ALDS_VERSION_KEEP
	expirePeriod  = 10 * time.Minute // deletes expired answers to requests, unused contents and old audit events
)

// parts lists the parts of the service's role.
func (s *service) parts(l listeners) []part {
	parts := []part{{name: "admin", step: stepAdmin, run: s.serveAdmin}}
	parts = append(parts, part{name: "redis", step: stepQueue, run: s.queue.Watch})
	parts = append(parts, part{name: "model", step: stepQueue, run: s.catalog.Run})
	if s.role.HTTP || s.role.works {
		parts = append(parts, part{name: "hints", step: stepQueue, run: s.client.Run}, part{name: "audit trail", step: stepQueue, run: s.trail.Run},
			part{name: "subscriptions", step: stepQueue, run: s.unwatched.Run})
	}
	parts = append(parts, part{name: "memory", step: stepAdmin, run: s.returnMemory})
	parts = append(parts, part{name: "process", step: stepAdmin, run: s.process.Run}, part{name: "backlog", step: stepQueue, run: s.backlog.Run})
	if s.role.HTTP {
		parts = append(parts, part{name: "replicas", step: stepQueue, run: s.DB.WatchReplicas})
		parts = append(parts, part{name: "checks", run: s.system.Run}, part{name: "api", run: func(ctx context.Context) error { return s.serveAPI(ctx, l.http) }}, part{name: "descriptions", run: s.describeModels})
	}
	if s.role.works {
		parts = append(parts, s.worker()...)
	}
	if s.role.schedules {
		parts = append(parts, part{name: "scheduler", run: s.scheduler().Run}, part{name: "statistics", run: s.DB.KeepStatistics})
	}
	return parts
}

func (s *service) worker() []part {
	w := s.hooks.NewWorker(delivery.Options{
		Schedule:     s.cfg.WebhookRetrySchedule,
		Slots:        s.cfg.WorkerConcurrency,
		InFlight:     s.cfg.WebhookInFlight,
		AllowPrivate: s.cfg.WebhookAllowPrivate,
		Timeout:      s.cfg.WebhookTimeout,
		Connect:      s.cfg.WebhookConnectTimeout,
		WakeAt:       s.client.WakeAt,
		Tracer:       s.tracer,
	})
	j := jobs.NewWorker(s.queue, w, s.async)
	if s.embedded {
		s.client.Attach(j)
	}
	return []part{{name: "deliveries", run: w.Run}, {name: "worker", run: j.Run}}
}

func (s *service) scheduler() *jobs.Scheduler {
	return jobs.NewScheduler(s.queue, s.component("scheduler"), s.metrics,
		jobs.Periodic{Name: "webhook:prune", Every: prunePeriod, Run: s.hooks.Prune},
		jobs.Periodic{Name: "bulk:forget", Every: expirePeriod, Run: func(ctx context.Context) error { return requests.DeleteExpired(ctx, s.DB) }},
		jobs.Periodic{Name: "blob:sweep", Every: expirePeriod, Run: s.contents.Sweep},
		jobs.Periodic{Name: "custom:purge", Every: purgePeriod, Run: func(ctx context.Context) error { return purge.Run(ctx, s.DB, s.model) }},
		jobs.Periodic{Name: "audit:prune", Every: expirePeriod, Run: func(ctx context.Context) error { return trail.Prune(ctx, s.DB, s.cfg.AuditKeep) }},
		jobs.Periodic{Name: "version:prune", Every: historyPeriod, Run: s.pruner().Run},
	)
}

// pruner returns the periodic work that removes history older than ALDS_VERSION_KEEP.
func (s *service) pruner() *history.Pruner {
	return history.New(s.DB, history.Options{
		Keep:     s.cfg.VersionKeep,
		Model:    func() *meta.Model { return s.present.Load().model },
		Position: s.feed.AdvanceSome,
		Contents: s.contents,
		Log:      s.component("history"),
		Metrics:  s.metrics,
	})
}

// serveAPI serves requests until ctx ends. Then it waits for the running requests.
func (s *service) serveAPI(ctx context.Context, l net.Listener) error {
	return serve(ctx, func() error { return s.api.Serve(l) }, func(ctx context.Context) error {
		s.admin.Drain()
		err := s.api.Shutdown(ctx)
		_ = l.Close() // otherwise a server that is shut down before it starts would still begin to serve
		return err
	}, s.cfg.ShutdownGrace)
}

// startAdmin starts the admin server, which reports that the process is not ready yet.
func (s *service) startAdmin(l net.Listener) {
	s.admin = admin.New(s.metrics, s.component("admin"))
	s.notReady(fault.Transientf(nil, "the database has not been asked yet"))
	s.adminEnded = make(chan error, 1)
	go func() { s.adminEnded <- s.admin.Serve(l) }()
}

// serveAdmin waits until ctx ends, and then shuts down the admin server that startAdmin started. If
// the server fails before that, serveAdmin returns its error.
func (s *service) serveAdmin(ctx context.Context) error {
	return serve(ctx, func() error { return <-s.adminEnded }, s.admin.Shutdown, time.Second)
}

// serve runs a server until ctx ends and shuts it down within grace.
func serve(ctx context.Context, run func() error, shutdown func(context.Context) error, grace time.Duration) error {
	ended := make(chan error, 1)
	go func() { ended <- run() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := shutdown(within); err != nil {
		return err
	}
	return <-ended
}
