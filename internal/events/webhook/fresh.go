package webhook

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/store/lease"
)

// fresh is the maximum age of writes that are fanned out without a claim.
const fresh = time.Second

// fanOutFresh fans out a few new writes without a claim, because a claim needs an additional
// transaction. The transaction that stores the deliveries marks the writes as done only if no other
// worker has claimed them. The result ended is false if the writes must be claimed. This is also
// the case after a failure. If this process ends during the fan-out, the writes are claimed later,
// because they are then older than fresh.
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
	case errors.Is(err, lease.ErrLost): // another worker has claimed or finished the writes
		return true, nil
	case isUnreachable(err) || ctx.Err() != nil:
		return false, cmp.Or(ctx.Err(), err)
	default:
		return err == nil, nil
	}
}

// matchWithin is the maximum time that the transaction of a fresh group waits for matching. During
// this time the transaction locks the rows of the writes, and other transactions may have to wait.
const matchWithin = 500 * time.Millisecond

// errStillMatching rolls back a transaction that has waited for matchWithin.
var errStillMatching = errors.New("the changes are still being matched")

// passFresh reads, matches and stores a group that fits into one chunk. To save time, the
// transaction that stores the chunk begins, and marks the audits, while the chunk is still matched.
// If matching takes longer than matchWithin, the transaction is rolled back, and begins again after
// matching. If Dialect.SmallInside is false, the transaction begins only after matching, because
// all other writes would have to wait for the transaction.
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
