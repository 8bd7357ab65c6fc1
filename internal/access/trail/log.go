package trail

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

const (
	writeEvery   = time.Second
	writeTimeout = 5 * time.Second
	endTimeout   = 2 * time.Second // time limit of the last write when the process stops
)

// Options are the parts of a Log that have a default.
type Options struct {
	Log     *slog.Logger
	Metrics Registerer       // may be nil
	Now     func() time.Time // nil: time.Now
}

// Log is the audit trail of a database. It is safe for concurrent use; create it with New. A
// nil Log notes nothing.
type Log struct {
	db      *db.DB
	model   *meta.Model
	log     *slog.Logger
	metrics *metrics
	now     func() time.Time

	mu    sync.Mutex
	notes *notes

	writing   sync.Mutex // held by write
	unwritten []row      // taken from notes, but not written yet
}

// New returns the audit trail of a database.
func New(d *db.DB, m *meta.Model, o Options) *Log {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Log{db: d, model: m, log: o.Log, metrics: newMetrics(o.Metrics), now: o.Now, notes: newNotes()}
}

// Note records an event that belongs to no transaction. It does not wait. Run writes the event
// within about a second. Equal events of the same minute are counted together.
func (l *Log) Note(ctx context.Context, e Event) {
	if l == nil {
		return
	}
	e = e.from(ctx).clipped()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.notes.add(e, l.now()) {
		l.metrics.noted.WithLabelValues(string(e.Kind)).Inc()
	} else {
		l.metrics.dropped.WithLabelValues(string(e.Kind)).Inc()
	}
}

// Run writes noted events every second until ctx ends, and then all remaining events.
func (l *Log) Run(ctx context.Context) error {
	tick := time.NewTicker(writeEvery)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			within, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
			defer cancel()
			return l.write(within, true)
		case <-tick.C:
			within, cancel := context.WithTimeout(ctx, writeTimeout)
			failing = l.flush(within, failing)
			cancel()
		}
	}
}

// Flush writes all noted events.
// Errors: those of the database; unwritten events stay.
func (l *Log) Flush(ctx context.Context) error { return l.write(ctx, true) }

// flush writes the events that are due. After an error, for example because of a long write of
// another process, the next call tries again. flush logs only the first of several errors in a
// row. failing is true if the previous call failed. fails is true if this call failed.
func (l *Log) flush(ctx context.Context, failing bool) (fails bool) {
	err := l.write(ctx, false)
	if err != nil && !failing {
		l.log.Warn("the audit trail cannot be written; writing is tried again every second", "err", err)
	}
	return err != nil
}

// write writes the events that are due. If end is true, it writes all events. Rows that cannot be
// written stay in l.unwritten for the next call. Meanwhile the type notes limits the number of new
// events.
func (l *Log) write(ctx context.Context, end bool) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	if err := l.writeLeft(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	due := l.notes.take(l.now(), end)
	l.mu.Unlock()
	for _, n := range due {
		e := n.event
		e.Count = n.n
		r := newRow(e)
		r.at = n.last.UnixMicro()
		if n.n > 1 && n.first != n.last {
			r.first = n.first.UnixMicro()
		}
		l.unwritten = append(l.unwritten, r)
	}
	return l.writeLeft(ctx)
}

// writeLeft writes the unwritten rows. A conflict means that an earlier attempt has written them,
// but the answer of the database was lost.
func (l *Log) writeLeft(ctx context.Context) error {
	if len(l.unwritten) == 0 {
		return nil
	}
	err := l.db.Write(ctx, func(tx *db.Tx) error {
		if err := l.complete(ctx, tx); err != nil {
			return err
		}
		return insert(ctx, tx, l.unwritten)
	})
	if err != nil && fault.KindOf(err) != fault.Conflict {
		return err
	}
	l.unwritten = nil
	return nil
}
