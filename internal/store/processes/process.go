package processes

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/store/db"
)

// How often a process writes its row, and the time limits.
const (
	beatEvery = 10 * time.Second
	beatLimit = 10 * time.Second
	lastLimit = 2 * time.Second // for the deletion of the row at the end
)

// Self describes this process.
type Self struct {
	Role    string
	Version string
	Host    string
}

// Process is the running process; New returns one.
type Process struct {
	id      string
	db      *db.DB
	self    Self
	slowest *Slowest
	log     *slog.Logger
	metrics *metrics
	began   time.Time
	silent  bool // true if the last write of the row failed; used only by Run
}

// Options are the options of New. The zero value is valid.
type Options struct {
	Log     *slog.Logger // nil: no log
	Metrics Registerer   // nil: no metrics
}

// New returns the running process. slowest may be nil.
func New(d *db.DB, self Self, slowest *Slowest, o Options) *Process {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	self = Self{Role: bounded(self.Role, 64), Version: bounded(self.Version, 100), Host: bounded(self.Host, 255)}
	return &Process{id: uuid.NewString(), db: d, self: self, slowest: slowest, log: o.Log, metrics: newMetrics(o.Metrics), began: time.Now()}
}

// bounded returns the first n characters of a text, for a column that can store no more.
func bounded(text string, n int) string {
	text = strings.ToValidUTF8(text, "?")
	for utf8.RuneCountInString(text) > n {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return text
}

// ID returns the id of the process, which is new at every start.
func (p *Process) ID() string { return p.id }

// Run writes the row about every ten seconds until ctx ends, and then deletes it. It logs a failure
// once per outage.
func (p *Process) Run(ctx context.Context) error {
	for {
		err := p.beat(ctx)
		if err == nil {
			err = p.count(ctx)
		}
		if err != nil {
			p.metrics.unknown()
		}
		p.note(ctx, err)
		select {
		case <-ctx.Done():
			p.leave(context.WithoutCancel(ctx))
			return nil
		case <-time.After(beatEvery*9/10 + rand.N(beatEvery/5)):
		}
	}
}

func (p *Process) note(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil:
	case err != nil && !p.silent:
		p.log.Warn("the row of the process was not updated; the process continues", "err", err)
	case err == nil && p.silent:
		p.log.Info("the row of the process is updated again")
	}
	p.silent = err != nil
}

// beat writes the row, and deletes the rows of processes that stopped long ago.
func (p *Process) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, beatLimit)
	defer cancel()
	now := p.db.Dialect.NowMicros
	slow, age := p.slowest.text(), time.Since(p.began).Microseconds()
	return p.db.Small(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO process (id, role, version, host, started, seen, slow_queries) VALUES (?, ?, ?, ?, `+now+` - ?, `+now+`, ?)`+
			p.db.Dialect.Upsert([]string{"id"}, []string{"seen", "slow_queries"}),
			p.id, p.self.Role, p.self.Version, p.self.Host, age, slow)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM process WHERE seen < `+now+` - ?`, forgetAfter.Microseconds())
		return err
	})
}

// count updates the gauges of the running processes.
func (p *Process) count(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, beatLimit)
	defer cancel()
	var n counts
	err := db.Each(ctx, p.db, `SELECT role, COUNT(*) FROM process WHERE seen >= `+p.db.Dialect.NowMicros+` - ? GROUP BY role`,
		[]any{aliveFor.Microseconds()}, func(row db.Scanner) error {
			var role string
			var alive int
			err := row.Scan(&role, &alive)
			n.add(role, alive)
			return err
		})
	if err == nil {
		p.metrics.known(n)
	}
	return err
}

// leave deletes the row. If that fails, another process deletes it after an hour.
func (p *Process) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lastLimit)
	defer cancel()
	err := p.db.Small(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM process WHERE id = ?`, p.id)
		return err
	})
	if err != nil {
		p.log.Debug("the row of the process stays", "err", err)
	}
}
