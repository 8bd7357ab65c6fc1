package webhook

import (
	"context"
	"errors"
	"log/slog"

	"github.com/alds-dev/alds/internal/base/tracing"
	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/events/delivery"
	"github.com/alds-dev/alds/internal/store/db"
)

// chunk is what is matched and stored together: several small audits, or a part
// of a large one.
type chunk struct {
	audits     []*audit
	versions   []change.Version
	upTo       int64        // of a part that is not the last: its audit is fanned out up to here
	last       bool         // the audits are fanned out after it
	match      func() error // waits for the deliveries; nil where they are there
	deliveries []*delivery.Delivery
	apart      bool   // its one event is stored in parts
	parts      *parts // that event; nil: there is none
	failed     error  // why its one version is left out; nil: it is not
	err        error  // of loading or matching
}

// mayFail reports whether its audit goes on without it.
func (c *chunk) mayFail() bool { return c.apart && c.audits[0].isLast() }

// runPipeline fans out a group that fits into one chunk, or one larger audit
// chunk by chunk: while one is stored the next is matched and the third is read.
// They are stored in order, each under the lease of the audits. After a failure
// the chunks that follow are dropped.
//
// A chunk has size versions at most, one with apart. Errors: isTooLarge where fewer are to
// be tried.
func (w *Worker) runPipeline(ctx context.Context, idx *index, group []*audit, size int) (err error) {
	ctx, spans := startFanOut(ctx, group)
	defer func() { spans.end(err) }()
	ctx, stop := context.WithCancel(ctx)
	loaded, matched := make(chan *chunk), make(chan *chunk)
	go w.load(ctx, idx, group, size, loaded)
	go w.matchAll(ctx, idx, loaded, matched)
	defer func() {
		stop()
		for range matched { // it is closed when both have ended
		}
	}()
	for c := range matched {
		if c.err != nil {
			return c.err
		}
		if err := w.store(ctx, c); err != nil {
			return err
		}
		if c.last {
			return nil
		}
	}
	return ctx.Err()
}

// fanOutSpans are the spans of the fan-out of a group: one for each of its writes that
// is traced, in its trace.
type fanOutSpans []tracing.Span

// startFanOut begins the spans of a group. What is done for all of it is within the
// first one, to which the others are linked.
func startFanOut(ctx context.Context, group []*audit) (within context.Context, all fanOutSpans) {
	within, lead := ctx, ""
	for _, a := range group {
		its, span := tracing.Continue(ctx, "fan-out", tracing.Consumer, a.Trace, lead)
		if !span.On() {
			continue
		}
		span.Text("alds.write", a.Request)
		span.Int("alds.writes", len(group))
		if lead == "" {
			within, lead = its, span.Parent()
		}
		all = append(all, span)
	}
	return within, all
}

func (f fanOutSpans) end(err error) {
	for _, span := range f {
		span.End(err)
	}
}

// load reads the chunks of a group in order.
func (w *Worker) load(ctx context.Context, idx *index, group []*audit, size int, to chan<- *chunk) {
	defer close(to)
	done := group[0].done
	for {
		c, err := w.loadChunk(ctx, idx, group, done, size)
		if err != nil {
			c = &chunk{err: err}
		}
		done = c.upTo
		end := c.last || c.err != nil
		if !send(ctx, to, c) || end {
			return
		}
	}
}

// matchAll matches chunks in order.
func (w *Worker) matchAll(ctx context.Context, idx *index, from <-chan *chunk, to chan<- *chunk) {
	defer close(to)
	for c := range from {
		if c.err == nil {
			c.err = w.match(ctx, idx, c)
		}
		if c.err != nil && c.mayFail() && !isUnreachable(c.err) && ctx.Err() == nil {
			c.failed, c.err, c.parts = c.err, nil, nil
		}
		if !send(ctx, to, c) {
			break
		}
	}
	for range from { // it is closed when load has ended
	}
}

// send reports false when the pipeline is stopped.
func send(ctx context.Context, to chan<- *chunk, c *chunk) bool {
	select {
	case to <- c:
		return true
	case <-ctx.Done():
		return false
	}
}

// loadChunk reads the next versions of the audits. done is how far a single audit
// is fanned out. Errors: change.ErrTooLarge for several audits that are not one chunk.
func (w *Worker) loadChunk(ctx context.Context, idx *index, group []*audit, done int64, size int) (*chunk, error) {
	c := &chunk{audits: group, last: true, apart: size == apart}
	var parts []change.Audit
	for _, a := range group {
		if len(group) > 1 {
			done = a.done
		}
		if first := max(done+1, a.first); first <= a.last {
			parts = append(parts, change.Audit{ID: a.ID, First: first, Last: a.last})
		}
	}
	limit := max(size, 1) + 1
	if len(group) > 1 {
		limit = 100 * change.ChunkSize // bounded by their moments already
	}
	var more bool
	var err error
	switch c.versions, more, err = idx.Loader.Versions(ctx, w.db, parts, limit); {
	case err != nil || !more:
		return c, err
	case len(group) > 1:
		return nil, change.ErrTooLarge
	}
	// The versions at the moment of the last one belong to the next chunk.
	c.last = false
	cut := c.versions[len(c.versions)-1].Moment
	for len(c.versions) > 0 && c.versions[len(c.versions)-1].Moment == cut {
		c.versions = c.versions[:len(c.versions)-1]
	}
	if len(c.versions) == 0 {
		return nil, errors.New("too many versions at one moment")
	}
	c.upTo = cut - 1
	return c, nil
}

// store writes a chunk in one transaction: first the mark of its audits, which
// fails when their lease is lost, then the deliveries.
func (w *Worker) store(ctx context.Context, c *chunk) error {
	if c.failed != nil {
		w.leaveOut(c)
	}
	if c.parts != nil {
		if err := c.parts.store(ctx, c.audits[0]); err != nil {
			return err
		}
	}
	var batch *delivery.Batch
	err := w.db.Write(ctx, func(tx *db.Tx) error {
		batch = nil
		err := w.mark(ctx, tx, c)
		if err == nil && c.match != nil {
			err = c.match()
		}
		if err == nil && len(c.deliveries) > 0 {
			batch, err = w.sender.Insert(ctx, tx, c.deliveries)
		}
		return err
	})
	if err != nil {
		return err
	}
	if c.last {
		w.metrics.audits.WithLabelValues(c.outcome()).Add(float64(len(c.audits)))
		w.logDone(ctx, c)
	} else {
		c.audits[0].done = c.upTo
	}
	if batch != nil {
		w.sender.Enqueue(batch)
	}
	return nil
}

// leaveOut notes that nobody gets the events of a version, and that others of its audit go on.
func (w *Worker) leaveOut(c *chunk) {
	a := c.audits[0]
	a.failed = c.failed
	w.log.Error("version set aside", "audit", a.ID, "write", a.Request, "moment", c.versions[0].Moment, "err", c.failed)
}

// logDone logs at debug the writes whose fan-out a chunk has ended.
func (w *Worker) logDone(ctx context.Context, c *chunk) {
	if !w.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	for _, a := range c.audits {
		w.log.Debug("fanned out", "audit", a.ID, "write", a.Request)
	}
}

// outcome is that of the audits, for metrics.
func (c *chunk) outcome() string {
	if c.audits[0].failed != nil {
		return "set_aside"
	}
	return "done"
}

// mark writes how far the audits of a chunk are fanned out. One of which versions were left
// out is set aside in the end.
func (w *Worker) mark(ctx context.Context, tx *db.Tx, c *chunk) error {
	set, args := "fan_state = 1, fan_moment = last_moment, fan_claims = 0, fan_error = NULL", []any(nil)
	switch failed := c.audits[0].failed; {
	case !c.last:
		set, args = "fan_moment = ?", []any{c.upTo}
	case failed != nil:
		set, args = "fan_state = 2, fan_moment = last_moment, fan_error = ?", []any{delivery.Truncate(failed.Error())}
	}
	if c.audits[0].owner == "" {
		return w.leases.Finish(ctx, tx, auditIDs(c.audits), set, args...)
	}
	return w.leases.Update(ctx, tx, c.audits[0].owner, auditIDs(c.audits), set, args...)
}
