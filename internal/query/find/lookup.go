package find

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/query"
)

// lookupsDone reports whether every lookup of the plan found its ids.
func (p prepared) lookupsDone() bool {
	return !slices.ContainsFunc(p.plan.Lookups, func(l *query.Lookup) bool { return !l.Known })
}

// runLookups runs the lookups of the plan.
func (x *executor) runLookups(ctx context.Context) error {
	for _, l := range x.plan.Lookups {
		s, err := x.read(ctx, x.w.Lookup(l), &query.Body{}, 1)
		if err != nil {
			return err
		}
		l.Found = l.Found[:0]
		if l.Known = s.Len() <= query.MaxLookup; !l.Known {
			continue
		}
		for i := range s.Len() {
			l.Found = append(l.Found, s.ID(int32(i)))
		}
		slices.Sort(l.Found)
		l.Found = slices.Compact(l.Found)
	}
	return nil
}
