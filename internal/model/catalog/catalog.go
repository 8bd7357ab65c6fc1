package catalog

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// pollEvery is the time between two checks of the generation. Even if one check fails, all
// processes have a change within two seconds.
const pollEvery = 500 * time.Millisecond

// Present is the current model, with its generation.
type Present struct {
	Model         *meta.Model
	Generation    int64
	ReadElsewhere bool // some process reads from a replica, or has done so; see the function ReadElsewhere
	Tracking      Tracking
}

// Options are the optional parts of a Catalog.
type Options struct {
	// OnChange is called with each new model before Refresh returns. Calls never overlap.
	OnChange func(Present)
	Log      *slog.Logger
}

// Catalog keeps the current model. It is safe for concurrent use.
type Catalog struct {
	db       *db.DB
	base     *meta.Model
	onChange func(Present)
	log      *slog.Logger

	present atomic.Pointer[Present]
	reading sync.Mutex // held by refresh
	left    string     // last logged error about definitions that were left out
}

// New returns a catalog. Until the first Refresh, the catalog has only the program's model, with a
// generation that no database has.
func New(d *db.DB, base *meta.Model, o Options) *Catalog {
	c := &Catalog{db: d.Lookup(), base: base, onChange: o.OnChange, log: o.Log}
	if c.onChange == nil {
		c.onChange = func(Present) {}
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	c.present.Store(&Present{Model: base, Generation: unread})
	return c
}

// unread is the generation of a model whose rows were not read yet.
const unread = 0

// Present returns the model that was read last.
func (c *Catalog) Present() Present { return *c.present.Load() }

// Refresh reads the rows if they have changed since the last read. When it returns, the model has
// all changes that were committed before the call.
// Errors: fault.Transient when the database does not answer.
func (c *Catalog) Refresh(ctx context.Context) error {
	now, err := Generation(ctx, c.db)
	if err != nil || c.Present().Generation >= now {
		return err
	}
	return c.refresh(ctx, now)
}

// Pass is like Refresh, for a caller that has found out that the model with this generation is
// outdated. If several callers do this at the same time, only one of them reads the rows.
func (c *Catalog) Pass(ctx context.Context, generation int64) error {
	return c.refresh(ctx, generation+1)
}

// refresh reads the rows unless the model's generation is at least atLeast.
func (c *Catalog) refresh(ctx context.Context, atLeast int64) error {
	c.reading.Lock()
	defer c.reading.Unlock()
	if c.Present().Generation >= atLeast {
		return nil
	}
	var custom meta.Custom
	next := Present{}
	err := c.db.Read(ctx, func(tx *db.Tx) (err error) {
		if next.Generation, err = Generation(ctx, tx); err != nil {
			return err
		}
		if next.ReadElsewhere, err = readsElsewhere(ctx, tx); err != nil {
			return err
		}
		if next.Tracking, err = ReadTracking(ctx, tx); err != nil {
			return err
		}
		custom, err = Read(ctx, tx, c.base)
		return err
	})
	if err != nil {
		return fmt.Errorf("read the model: %w", err)
	}
	if next.Generation == c.Present().Generation {
		return nil
	}
	next.Model, err = c.base.Extend(custom)
	c.warn(err)
	c.onChange(next)
	c.present.Store(&next)
	return nil
}

// warn logs the error about the rows that were left out, unless the last call had the same error.
func (c *Catalog) warn(left error) {
	text := ""
	if left != nil {
		text = left.Error()
	}
	if text != "" && text != c.left {
		c.log.Warn("definitions left out of the model", "err", left)
	}
	c.left = text
}

// Run checks for changes until ctx ends.
func (c *Catalog) Run(ctx context.Context) error {
	t := time.NewTicker(pollEvery)
	defer t.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		err := c.Refresh(ctx)
		if err != nil && ctx.Err() == nil && !failing {
			c.log.Warn("cannot check whether the model has changed", "err", err)
		}
		failing = err != nil
	}
}

// Generation returns the number of changes of the model that q sees.
func Generation(ctx context.Context, q db.Querier) (n int64, err error) {
	err = q.QueryRow(ctx, `SELECT value FROM sequence WHERE name = 'model'`).Scan(&n)
	return n, err
}

// Raise counts a change of the model's rows. Call it at the end of the transaction of the change.
// Raise waits until all writes that have locked a row of write_lock are committed. Later writes
// wait for the transaction. Raise also raises the generation of the webhook subscriptions, so that
// the code that matches later changes of assets with subscriptions reads the model again.
func Raise(ctx context.Context, tx *db.Tx) error {
	err := LockWrites(ctx, tx)
	if err == nil {
		_, err = tx.Exec(ctx, `UPDATE sequence SET value = value + 1 WHERE name IN ('model', 'webhook')`)
	}
	if err != nil {
		return fmt.Errorf("raise the model's generation: %w", err)
	}
	return nil
}
