package asset

import (
	"context"

	"github.com/alds-dev/alds/internal/fault"
)

// write allocates the moments, Numbers and ranks of the batch and writes its
// changes.
func (u unit) write(ctx context.Context) error {
	c := u.changes
	if c.moments == 0 {
		return nil
	}
	got, err := u.allocate(ctx)
	if err != nil {
		return err
	}
	w := &writer{s: u.s, tx: u.s.tx, layout: u.s.e.layout, changes: c, got: got, at: got.at, audit: u.s.audit, who: u.s.who.Member}
	w.stampVersions()
	steps := []func(context.Context) error{
		w.credentials, w.inserts, w.updates, w.closings, w.versions, w.edges, w.scopes, w.hidden, w.roles,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if u.s.first == 0 {
		u.s.first = got.moment
	}
	u.s.last = got.moment + c.moments - 1
	return nil
}

// allocate allocates what the changes need. Errors: fault.Invalid where a rank
// space has no ranks left.
func (u unit) allocate(ctx context.Context) (allocation, error) {
	n := demand{moments: u.changes.moments, others: make(map[string]int64, len(u.changes.numbers)+len(u.changes.ranks))}
	for t, count := range u.changes.numbers {
		n.others[numberSequence(t)] = count
	}
	for sequence, count := range u.changes.ranks {
		n.others[sequence] = count * rankStep
	}
	got, err := u.s.e.allocator.allocate(ctx, u.s.tx, n)
	for sequence, count := range u.changes.ranks {
		if err == nil && rankAt(got.first[sequence]-1+count*rankStep) > MaxRank {
			err = fault.Invalidf(fault.NoPlace, "the ranks are used up, %s", sequence)
		}
	}
	return got, err
}
