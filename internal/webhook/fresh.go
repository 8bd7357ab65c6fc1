package webhook

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/change"
	"github.com/alds-dev/alds/internal/lease"
)

// fresh is how old a write may be that is fanned out without a claim.
const fresh = time.Second

// fanOutFresh fans out a few writes that came just now, without a claim, which
// would be a transaction of its own: their mark is set only where nobody has
// claimed them. Who tries again after a failure, or after the end of this worker,
// comes later, and so claims them. It reports false where they have to be claimed.
func (w *Worker) fanOutFresh(ctx context.Context, waiting []*audit, gen int64) (ended bool, err error) {
	for _, a := range waiting {
		if a.age >= fresh.Microseconds() || a.claims > 0 || a.last-a.first >= change.ChunkSize {
			return false, nil
		}
	}
	idx, err := w.index(ctx, &w.cache, gen)
	if err != nil || len(idx.targets) == 0 || groupSize(waiting) < len(waiting) {
		return false, err
	}
	switch err := w.passFresh(ctx, idx, waiting); {
	case errors.Is(err, lease.ErrLost): // another worker was quicker
		return true, nil
	case isUnreachable(err) || ctx.Err() != nil:
		return false, cmp.Or(ctx.Err(), err)
	default:
		return err == nil, nil
	}
}

// passFresh reads, matches and stores a group that is one chunk. The transaction
// that stores it begins and sets the mark while the chunk is matched, except where
// other writes would wait for that.
func (w *Worker) passFresh(ctx context.Context, idx *index, group []*audit) (err error) {
	ctx, spans := startFanOut(ctx, group)
	defer func() { spans.end(err) }()
	c, err := w.loadChunk(ctx, idx, group, group[0].done, change.ChunkSize)
	if err != nil {
		return err
	}
	if !c.last {
		return change.ErrTooLarge
	}
	matched := make(chan error, 1)
	go func() { matched <- w.match(ctx, idx, c) }()
	c.match = sync.OnceValue(func() error { return <-matched })
	if !w.db.Dialect.SmallInside {
		if err := c.match(); err != nil {
			return err
		}
	}
	err = w.store(ctx, c)
	return cmp.Or(err, c.match())
}
