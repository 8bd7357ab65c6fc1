package history

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// Limits that keep the load of a pruner low.
const (
	stepVersions = 50   // versions that one transaction reads; it removes the rows that ended when these versions began
	stepRows     = 1000 // one transaction removes at most about this many rows of a table
	stride       = 2000 // moments by which the horizon moves at once; more if one stamp has more
	leastPause   = 5 * time.Millisecond
	rest         = 9                // pause after a transaction, as a multiple of its duration
	runFor       = 40 * time.Second // maximum duration of one run; a task of the scheduler may take a minute
)

// Contents stores the bytes of attachments. Versions refer to contents by their hashes.
type Contents interface {
	// Doubt marks contents as doubted: a removed version referred to them, and perhaps no other
	// version does.
	Doubt(ctx context.Context, tx *db.Tx, hashes []string) error
	// Doubted returns the hashes of some doubted contents. All of them were doubted earlier than
	// the instant in the result before, in UTC microseconds.
	Doubted(ctx context.Context) (hashes []string, before int64, err error)
	// Settle keeps the contents in held, and releases the contents in others for removal. It leaves
	// out contents that were doubted again, and not earlier than the instant in the parameter
	// before.
	Settle(ctx context.Context, before int64, held, others []string) error
}

// Options are the options of New.
type Options struct {
	Keep  time.Duration      // how long history is kept; 0: for ever
	Model func() *meta.Model // returns the current model
	// Position assigns places in the feed to some of the writes that have no place. It reports
	// whether there may be more such writes.
	Position func(context.Context) (more bool, err error)
	Contents Contents
	Log      *slog.Logger // may be nil
	Metrics  Registerer   // may be nil
}

// Pruner removes history before the horizon.
type Pruner struct {
	Options
	db      *db.DB
	metrics *metrics
	search  *search // the unfinished search of an earlier step; nil if there is none
}

// New returns the pruner of a database.
func New(d *db.DB, o Options) *Pruner {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Pruner{Options: o, db: d, metrics: newMetrics(o.Metrics)}
}

// removed has the numbers of removed rows, by table.
type removed struct{ versions, links, audits, stamps, contents int }

func (r *removed) add(o removed) {
	r.versions += o.versions
	r.links += o.links
	r.audits += o.audits
	r.stamps += o.stamps
	r.contents += o.contents
}

// Run moves the horizon and removes history before it, for about runFor. If that is too short, the
// next run continues, also in another process. If Keep is 0, Run removes nothing.
func (p *Pruner) Run(ctx context.Context) error {
	if p.Keep == 0 {
		return p.measure(ctx)
	}
	began, all := time.Now(), removed{}
	err := p.run(ctx, began.Add(runFor), &all)
	p.metrics.count(all)
	if h, err := Of(ctx, p.db); err == nil && all != (removed{}) {
		p.Log.Info("history pruned", "since", h.Since(), "versions", all.versions, "links", all.links, "audits", all.audits,
			"stamps", all.stamps, "contents", all.contents, "duration_ms", time.Since(began).Milliseconds())
	}
	if err != nil {
		return err
	}
	return p.measure(ctx)
}

// run works until everything is done, or until its deadline.
func (p *Pruner) run(ctx context.Context, until time.Time, all *removed) error {
	target, err := p.target(ctx)
	if err != nil {
		return fmt.Errorf("find the horizon: %w", err)
	}
	if h, err := Of(ctx, p.db); err != nil {
		return err
	} else if h.Moment < target {
		if err := p.repeat(ctx, until, all, p.place); err != nil {
			return fmt.Errorf("assign places in the feed to writes: %w", err)
		}
	}
	codes := map[string][]int64{}
	step := func(ctx context.Context) (removed, bool, error) { return p.step(ctx, codes) }
	for more := true; more; {
		for _, step := range []func(context.Context) (removed, bool, error){step, p.stamps} {
			if err := p.repeat(ctx, until, all, step); err != nil {
				return err
			}
		}
		if time.Now().After(until) {
			return nil
		}
		if more, err = p.advance(ctx, target); err != nil {
			return fmt.Errorf("move the horizon: %w", err)
		}
	}
	return p.repeat(ctx, until, all, p.settle)
}

// place is a step that assigns places in the feed to some writes.
func (p *Pruner) place(ctx context.Context) (n removed, more bool, err error) {
	more, err = p.Position(ctx)
	return n, more, err
}

// repeat runs a step again and again, until nothing is left to do, or until its deadline. It pauses
// after each step.
func (p *Pruner) repeat(ctx context.Context, until time.Time, all *removed, step func(context.Context) (removed, bool, error)) error {
	for {
		began := time.Now()
		n, more, err := step(ctx)
		if err != nil {
			return err
		}
		all.add(n)
		if !more || time.Now().After(until) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(max(leastPause, rest*time.Since(began))):
		}
	}
}

// measure sets the metric for the instant of the horizon.
func (p *Pruner) measure(ctx context.Context) error {
	h, err := Of(ctx, p.db)
	if err == nil {
		p.metrics.since.Set(float64(h.At) / 1e6)
	}
	return err
}
