package webhook

import (
	"context"
	"errors"

	"github.com/alds-dev/alds/internal/change"
	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/delivery"
	"github.com/alds-dev/alds/internal/memfilter"
)

// chunk is what is worked on and persisted together.
type chunk struct {
	audits     []*claimed
	versions   []change.Version
	near       memfilter.Related
	upTo       int64 // a chunk of one audit that is not its last: fanned out up to here
	last       bool  // nothing of these audits remains after it
	deliveries []*delivery.Delivery
	err        error // it could not be loaded or matched; the last
}

// fanGroup fans out a group that fits into one chunk, or one larger audit chunk
// by chunk: while one is persisted the next is matched and the one behind it
// read. They are persisted in order, each under the claim's fence; what was
// made ahead is dropped after a failure.
func (w *Worker) fanGroup(ctx context.Context, idx *index, group []*claimed) error {
	ctx, stop := context.WithCancel(ctx)
	loaded, matched := make(chan *chunk), make(chan *chunk)
	go w.load(ctx, group, loaded)
	go w.matchAll(ctx, idx, loaded, matched)
	defer func() {
		stop()
		for range matched { // both have ended when it is closed
		}
	}()
	for c := range matched {
		if c.err != nil {
			return c.err
		}
		if err := w.persist(ctx, c); err != nil {
			return err
		}
		if c.last {
			return nil
		}
	}
	return ctx.Err()
}

// load reads the chunks of a group in order.
func (w *Worker) load(ctx context.Context, group []*claimed, to chan<- *chunk) {
	defer close(to)
	fanned := group[0].fanned
	for {
		c, err := w.loadChunk(ctx, group, fanned)
		if err != nil {
			c = &chunk{err: err}
		}
		fanned = c.upTo
		end := c.last || c.err != nil
		if !pass(ctx, to, c) || end { // it is the next one's from here
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
		if !pass(ctx, to, c) {
			break
		}
	}
	for range from { // it has ended when it is closed
	}
}

// pass hands a chunk on; it reports false when nobody wants it any more.
func pass(ctx context.Context, to chan<- *chunk, c *chunk) bool {
	select {
	case to <- c:
		return true
	case <-ctx.Done():
		return false
	}
}

// loadChunk reads the next versions of the audits; of a single one those after
// the moment fanned.
func (w *Worker) loadChunk(ctx context.Context, group []*claimed, fanned int64) (*chunk, error) {
	c := &chunk{audits: group, last: true}
	var parts []change.Audit
	for _, a := range group {
		if len(group) > 1 {
			fanned = a.fanned
		}
		if first := max(fanned+1, a.first); first <= a.last {
			parts = append(parts, change.Audit{ID: a.id, First: first, Last: a.last})
		}
	}
	limit := change.ChunkSize + 1
	if len(group) > 1 {
		limit = 100 * change.ChunkSize // bounded by their moments already
	}
	var err error
	if c.versions, err = w.loader.Versions(ctx, w.db, parts, limit); err != nil || len(c.versions) < limit {
		return c, err
	}
	// What comes at the moment of the surplus version waits with it.
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

// persist makes a chunk's fan-out final, in one transaction: first the mark
// under the claim, which fails when somebody else has the audits by now, then
// the deliveries.
func (w *Worker) persist(ctx context.Context, c *chunk) error {
	var batch *delivery.Batch
	err := w.db.Write(ctx, func(tx *db.Tx) error {
		batch = nil
		err := w.mark(ctx, tx, c)
		if err == nil && len(c.deliveries) > 0 {
			batch, err = w.sender.Insert(ctx, tx, c.deliveries)
		}
		return err
	})
	if err != nil {
		return err
	}
	if c.last {
		w.metrics.audits.WithLabelValues("done").Add(float64(len(c.audits)))
	} else {
		c.audits[0].fanned = c.upTo
	}
	if batch != nil {
		w.sender.Enqueue(batch)
	}
	return nil
}

// mark moves the fanned-out mark of the chunk's audits.
func (w *Worker) mark(ctx context.Context, tx *db.Tx, c *chunk) error {
	set, args := "fan_state = 1, fan_moment = last_moment, fan_claims = 0, fan_error = NULL", []any(nil)
	if !c.last {
		set, args = "fan_moment = ?", []any{c.upTo}
	}
	return w.leases.Update(ctx, tx, c.audits[0].owner, auditIDs(c.audits), set, args...)
}
