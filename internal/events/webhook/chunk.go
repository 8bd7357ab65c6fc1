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

// chunk contains versions that are matched and stored together. These are all versions of several
// small audits (writes), or some versions of one large audit.
type chunk struct {
	audits     []*audit
	versions   []change.Version
	upTo       int64        // moment up to which the audit is fanned out after this chunk; 0 if last is true
	last       bool         // true: the fan-out of the audits ends with this chunk
	match      func() error // waits until deliveries is set; nil: deliveries is already set
	deliveries []*delivery.Delivery
	apart      bool   // true: the chunk has one version, and its event is stored in parts
	parts      *parts // the event, if apart is true; nil: no rule matches the event
	failed     error  // why the version is left out; nil: it is not left out
	err        error  // error of loading or matching the chunk
}

// mayFail reports whether the chunk is left out if it fails. This is true for a chunk with a single
// version in the last claim of its audit.
func (c *chunk) mayFail() bool { return c.apart && c.audits[0].isLast() }

// runPipeline fans out several audits in one chunk, or one larger audit in several chunks. While
// one chunk is stored, the next chunk is matched, and the chunk after that is read. Chunks are
// stored in order, each while the audits are leased. After a failure, the later chunks are dropped.
//
// size is the maximum number of versions in a chunk. If size is the constant apart, each chunk has
// one version. After an error, smaller chunks may succeed; see isTooLarge.
func (w *Worker) runPipeline(ctx context.Context, idx *index, group []*audit, size int) (err error) {
	ctx, spans := startFanOut(ctx, group)
	defer func() { spans.end(err) }()
	ctx, stop := context.WithCancel(ctx)
	loaded, matched := make(chan *chunk), make(chan *chunk)
	go w.load(ctx, idx, group, size, loaded)
	go w.matchAll(ctx, idx, loaded, matched)
	defer func() {
		stop()
		for range matched { // matched is closed after both goroutines have ended
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

// fanOutSpans are the tracing spans of the fan-out of a group of writes. Each traced write has one
// span, in the trace of that write.
type fanOutSpans []tracing.Span

// startFanOut begins the spans of a group. The result within is the context of the first span,
// which records the work for the whole group. The other spans are linked to the first span.
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

// load reads the chunks of a group and sends them in order. After an error it sends one more chunk,
// which contains only the error.
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

// matchAll matches chunks in order. If a chunk fails but can be left out, matchAll stores the error
// in chunk.failed, and the fan-out continues with the next chunk.
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
	for range from { // load closes this channel when it ends
	}
}

// send sends a chunk and returns true. It returns false if the pipeline was stopped first.
func send(ctx context.Context, to chan<- *chunk, c *chunk) bool {
	select {
	case to <- c:
		return true
	case <-ctx.Done():
		return false
	}
}

// loadChunk reads the next versions of the audits. done is the moment up to which a single audit is
// already fanned out. loadChunk returns change.ErrTooLarge if several audits do not fit into one
// chunk.
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
		limit = 100 * change.ChunkSize // groupSize has already limited the number of moments
	}
	var more bool
	var err error
	switch c.versions, more, err = idx.Loader.Versions(ctx, w.db, parts, limit); {
	case err != nil || !more:
		return c, err
	case len(group) > 1:
		return nil, change.ErrTooLarge
	}
	// The limit may have cut off more versions of the last moment. So all versions of this moment
	// go into the next chunk.
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

// store writes a chunk in one transaction. First it marks the audits, which fails if their lease is
// lost. Then it writes the deliveries. If the event of the chunk is in parts, the parts are stored
// before, in several transactions.
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

// leaveOut records and logs that the version of a chunk is left out. It stores the error in the
// audit. No subscription gets the event of this version. The fan-out of the audit continues with
// the next chunk.
func (w *Worker) leaveOut(c *chunk) {
	a := c.audits[0]
	a.failed = c.failed
	w.log.Error("version left out", "audit", a.ID, "write", a.Request, "moment", c.versions[0].Moment, "err", c.failed)
}

// logDone logs at level debug that the fan-out of the writes in a chunk has ended.
func (w *Worker) logDone(ctx context.Context, c *chunk) {
	if !w.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	for _, a := range c.audits {
		w.log.Debug("fanned out", "audit", a.ID, "write", a.Request)
	}
}

// outcome returns the outcome of the fan-out of the audits, as a label of metrics.
func (c *chunk) outcome() string {
	if c.audits[0].failed != nil {
		return "set_aside"
	}
	return "done"
}

// mark stores how far the audits of a chunk are fanned out. After the last chunk they are done, or
// set aside if a version was left out. Audits without an owner are marked only if no worker has
// claimed them. mark returns lease.ErrLost if the lease of the audits is lost.
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
