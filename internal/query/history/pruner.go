package history

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// How a pruner takes its time.
const (
	stepVersions = 50   // that are looked at in one transaction
	stepRows     = 1000 // about how many rows of a kind one transaction removes
	stride       = 2000 // moments that the horizon goes on at once, or one stamp with more
	leastPause   = 5 * time.Millisecond
	rest         = 9                // times as long as a transaction took is the pause behind it
	runFor       = 40 * time.Second // a task of the scheduler has a minute
)

// Contents are the bytes of attachments, which versions hold by their hash.
type Contents interface {
	// Doubt marks contents that a removed version held: maybe no other does.
	Doubt(ctx context.Context, tx *db.Tx, hashes []string) error
	// Doubted returns some of them, doubted before an instant.
	Doubted(ctx context.Context) (hashes []string, before int64, err error)
	// Settle keeps what is held, and lets the others go, but for what has been doubted
	// again since that instant.
	Settle(ctx context.Context, before int64, held, others []string) error
}

// Options are the options of New.
type Options struct {
	Keep  time.Duration      // how long history is kept; 0: for ever
	Model func() *meta.Model // the present one
	// Position gives some writes their places in the feed, and reports whether others
	// may have none yet.
	Position func(context.Context) (more bool, err error)
	Contents Contents
	Log      *slog.Logger // may be nil
	Metrics  Registerer   // may be nil
}

// Pruner removes what lies before the horizon.
type Pruner struct {
	Options
	db      *db.DB
	metrics *metrics
	search  *search // that goes on in the next run; nil: none
}

// New returns the pruner of a database.
func New(d *db.DB, o Options) *Pruner {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Pruner{Options: o, db: d, metrics: newMetrics(o.Metrics)}
}

// removed is how many rows went, by kind.
type removed struct{ versions, links, audits, stamps, contents int }

func (r *removed) add(o removed) {
	r.versions += o.versions
	r.links += o.links
	r.audits += o.audits
	r.stamps += o.stamps
	r.contents += o.contents
}

// Run moves the horizon on and removes what lies before it, for some time: the next run
// goes on where it, or another process, stopped. Without a time to keep history for it
// does nothing.
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

// run does the work until all is done or it is late.
func (p *Pruner) run(ctx context.Context, until time.Time, all *removed) error {
	target, err := p.target(ctx)
	if err != nil {
		return fmt.Errorf("find the horizon: %w", err)
	}
	if h, err := Of(ctx, p.db); err != nil {
		return err
	} else if h.Moment < target {
		if err := p.repeat(ctx, until, all, p.place); err != nil {
			return fmt.Errorf("give writes their places in the feed: %w", err)
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

// place gives some writes their places in the feed.
func (p *Pruner) place(ctx context.Context) (n removed, more bool, err error) {
	more, err = p.Position(ctx)
	return n, more, err
}

// repeat does a step until there is nothing left for it, or it is late.
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

// measure tells the metrics from when on history is kept.
func (p *Pruner) measure(ctx context.Context) error {
	h, err := Of(ctx, p.db)
	if err == nil {
		p.metrics.since.Set(float64(h.At) / 1e6)
	}
	return err
}
