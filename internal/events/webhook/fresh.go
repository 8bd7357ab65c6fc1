package webhook

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/store/lease"
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

// matchWithin is how long the transaction of a fresh group waits for the end of matching.
// It holds the rows of the writes meanwhile, for which others may wait.
const matchWithin = 500 * time.Millisecond

// errStillMatching ends a transaction that has waited so long.
var errStillMatching = errors.New("the changes are still being matched")

// passFresh reads, matches and stores a group that is one chunk. The transaction
// that stores it begins and sets the mark while the chunk is matched, except where
// other writes would wait for that. Where matching takes long it begins again behind it.
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
	var failed error
	matched := make(chan struct{})
	go func() {
		defer close(matched)
		failed = w.match(ctx, idx, c)
	}()
	if w.db.Dialect.SmallInside {
		c.match = func() error {
			select {
			case <-matched:
				return failed
			case <-time.After(matchWithin):
				return errStillMatching
			}
		}
		err = w.store(ctx, c)
		if <-matched; !errors.Is(err, errStillMatching) {
			return cmp.Or(err, failed)
		}
	}
	if <-matched; failed != nil {
		return failed
	}
	c.match = nil
	return w.store(ctx, c)
}
