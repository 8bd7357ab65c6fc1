package system

import (
	"context"
	"log/slog"
	"time"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/operate/check"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/lease"
	"github.com/alds-dev/alds/internal/store/processes"
)

// Options contains the values and functions that a Service needs.
type Options struct {
	Version string // release of this process
	// Commit is the commit that this process was built from; empty: unknown.
	Commit string
	// CommitDate is the date of that commit; empty: unknown.
	CommitDate string
	// Process is the id of this process in the table of processes.
	Process    string
	Dashboards string // URL of the dashboards; empty: unknown
	// Work returns the queued work in the database.
	Work    func(ctx context.Context, q db.Querier) (Work, error)
	Queue   func(ctx context.Context) (Tasks, error) // returns how many tasks are in the queue
	Check   Checking
	Changed func(ctx context.Context) // applies new settings to this process; may be nil
	Log     *slog.Logger
}

// Checking checks the database and returns the findings. It calls at to report its progress.
type Checking func(ctx context.Context, at func(check.Step)) ([]check.Finding, error)

// Service shows administrators the state of the installation, and runs checks. It is safe for
// concurrent use. New returns a Service.
type Service struct {
	db     *db.DB
	o      Options
	starts chan start // checks that Start has accepted and Run has not started yet
	leases *lease.Table[int64]

	tellEvery time.Duration // the constant tellEvery, or less in tests
}

// New returns a service for a database.
func New(d *db.DB, o Options) *Service {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{
		db: d, o: o, starts: make(chan start, 1), tellEvery: tellEvery,
		leases: lease.New[int64](d, "system_check", "", "state = 1"),
	}
}

// Work is the queued work in the database.
type Work struct {
	WaitingChanges   lease.Backlog // changes that wait for fan-out
	SetAsideChanges  lease.Backlog // changes whose fan-out failed too often
	DueDeliveries    lease.Backlog // due deliveries, including deliveries of paused or resting subscriptions
	LaterDeliveries  lease.Backlog // deliveries that wait for the time of their next attempt
	AcceptedRequests lease.Backlog // asynchronous requests that have not ended
	Paused, Resting  int           // numbers of paused and of resting subscriptions; resting: the circuit breaker is open
}

// Tasks contains the number of tasks in the queue, by state.
type Tasks struct {
	Pending   int `json:"pending"`
	Active    int `json:"active"`
	Scheduled int `json:"scheduled"`
	Retry     int `json:"retry"`
	Archived  int `json:"archived"`
}

// Status is the state of the installation, as clients read it.
type Status struct {
	Type        string      `json:"_type"`
	Version     string      `json:"version"`
	Commit      *string     `json:"commit"`     // the commit that this process was built from; null: unknown
	CommitDate  *string     `json:"commitDate"` // date of the commit; null: unknown
	Process     string      `json:"process"`    // id of the process that answers
	At          string      `json:"at"`
	Schema      Schema      `json:"schema"`
	Database    Database    `json:"database"`
	Processes   []Process   `json:"processes"`
	Work        WorkView    `json:"work"`
	Queue       Queue       `json:"queue"`
	SlowQueries []SlowQuery `json:"slowQueries"`
	Links       []Link      `json:"links"`
}

// Schema contains the number of the last applied migration, and of the last migration that this
// process expects.
type Schema struct {
	Version  int `json:"version"`
	Expected int `json:"expected"`
}

// Database describes the database server.
type Database struct {
	Server string `json:"server"` // name and version
}

// Process is the last report of a process about itself.
type Process struct {
	ID      string `json:"id"`
	Role    string `json:"role"`
	Version string `json:"version"`
	Host    string `json:"host"`
	Started string `json:"started"`
	Seen    string `json:"seen"` // time of the report
	Alive   bool   `json:"alive"`
}

// Waiting is the amount of work that waits.
type Waiting struct {
	Count int  `json:"count"`
	More  bool `json:"more"` // true: more work waits than Count
	// Oldest is the time when the oldest work began to wait. For LaterDeliveries it is the time
	// when the first delivery is due. Null means that no work waits.
	Oldest *string `json:"oldest"`
}

// WorkView is Work as clients read it.
type WorkView struct {
	WaitingChanges       Waiting `json:"waitingChanges"`
	SetAsideChanges      Waiting `json:"setAsideChanges"`
	DueDeliveries        Waiting `json:"dueDeliveries"`
	LaterDeliveries      Waiting `json:"laterDeliveries"`
	AcceptedRequests     Waiting `json:"acceptedRequests"`
	PausedSubscriptions  int     `json:"pausedSubscriptions"`
	RestingSubscriptions int     `json:"restingSubscriptions"`
}

// Queue is the state of the queue, as clients read it. If Redis does not answer, its tasks are
// unknown.
type Queue struct {
	Reachable bool `json:"reachable"`
	Depth     *int `json:"depth"` // number of tasks, excluding archived tasks; null: unknown
	*Tasks
}

// SlowQuery is a query of a process that was slow, with numbers about its slow runs.
type SlowQuery struct {
	At           string  `json:"at"` // when the slowest run ended
	Process      string  `json:"process"`
	Milliseconds float64 `json:"milliseconds"`      // duration of the slowest run
	Rows         int     `json:"rows"`              // number of rows of the slowest run
	Count        int     `json:"count"`             // number of slow runs
	Total        float64 `json:"totalMilliseconds"` // total duration of all slow runs
	Query        string  `json:"query"`
	Cut          bool    `json:"cut,omitempty"` // true: Query is only the beginning of the query
}

// Link is a link to a page with more information.
type Link struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// queueLimit is how long Status waits for an answer of the queue.
const queueLimit = 500 * time.Millisecond

// Status returns the state of the installation. The error has the kind fault.Denied if the actor is
// not a system administrator.
func (s *Service) Status(ctx context.Context, who auth.Actor) (Status, error) {
	st := Status{
		Type: "System", Version: s.o.Version, Commit: known(s.o.Commit), CommitDate: known(s.o.CommitDate),
		Process: s.o.Process, Links: []Link{},
	}
	if err := mayRead(who); err != nil {
		return st, err
	}
	err := s.db.Read(db.WithMember(ctx, who.Member), func(tx *db.Tx) error { return s.read(ctx, tx, &st) })
	if err != nil {
		return st, err
	}
	if st.Schema.Version, st.Schema.Expected, err = s.db.Schema(ctx); err != nil {
		return st, err
	}
	if st.Database.Server, err = s.db.Server(ctx); err != nil {
		return st, err
	}
	st.Queue = s.queue(ctx)
	if s.o.Dashboards != "" {
		st.Links = append(st.Links, Link{Name: "Dashboards", URL: s.o.Dashboards})
	}
	return st, nil
}

// known returns a pointer to text, or nil for an empty text.
func known(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func mayRead(who auth.Actor) error {
	if !who.Admin {
		return fault.Deniedf("How the system is, is for system administrators")
	}
	return nil
}

// read reads the parts of the status that are in the database. A transaction may be repeated, so
// read must allow a second call.
func (s *Service) read(ctx context.Context, tx *db.Tx, st *Status) error {
	var now int64
	if err := tx.QueryRow(ctx, "SELECT "+s.db.Dialect.NowMicros).Scan(&now); err != nil {
		return err
	}
	st.At = instant(now)
	rows, err := processes.List(ctx, tx, s.db.Dialect)
	if err != nil {
		return err
	}
	st.Processes = make([]Process, len(rows))
	for i, r := range rows {
		st.Processes[i] = Process{
			ID: r.ID, Role: r.Role, Version: r.Version, Host: r.Host,
			Started: instant(r.Started), Seen: instant(r.Seen), Alive: r.Alive,
		}
	}
	slow, err := processes.SlowQueries(ctx, tx, s.db.Dialect)
	if err != nil {
		return err
	}
	st.SlowQueries = make([]SlowQuery, len(slow))
	for i, q := range slow {
		st.SlowQueries[i] = SlowQuery{
			At: instant(q.At), Process: q.Process, Milliseconds: milliseconds(q.Slowest), Rows: q.Rows, Count: q.Count,
			Total: milliseconds(q.Total), Query: q.Query, Cut: q.Cut,
		}
	}
	w, err := s.o.Work(ctx, tx)
	st.Work = WorkView{
		WaitingChanges: view(w.WaitingChanges), SetAsideChanges: view(w.SetAsideChanges),
		DueDeliveries: view(w.DueDeliveries), LaterDeliveries: view(w.LaterDeliveries),
		AcceptedRequests:    view(w.AcceptedRequests),
		PausedSubscriptions: w.Paused, RestingSubscriptions: w.Resting,
	}
	return err
}

// queue returns the numbers of tasks in the queue. If the queue does not answer within
// queueLimit, Reachable is false.
func (s *Service) queue(ctx context.Context) Queue {
	ctx, cancel := context.WithTimeout(ctx, queueLimit)
	defer cancel()
	tasks, err := s.o.Queue(ctx)
	if err != nil {
		return Queue{}
	}
	depth := tasks.Pending + tasks.Active + tasks.Scheduled + tasks.Retry
	return Queue{Reachable: true, Depth: &depth, Tasks: &tasks}
}

func view(b lease.Backlog) Waiting {
	w := Waiting{Count: b.Count, More: b.More}
	if b.Oldest > 0 {
		at := instant(b.Oldest)
		w.Oldest = &at
	}
	return w
}

func instant(micros int64) string { return string(value.AppendInstant(nil, micros)) }

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
