package find

import (
	"context"
	"fmt"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/query/sqlgen"
	"github.com/alds-dev/alds/internal/store/db"
)

// Seen returns which of some assets an actor sees now. The assets may be deleted. ids are their
// stored ids, and types has all their types. The result is true for each asset that the actor sees.
func (f *Finder) Seen(ctx context.Context, q db.Querier, who auth.Actor, types []*meta.Type, ids []int64) (map[int64]bool, error) {
	seen := make(map[int64]bool, len(ids))
	if who.All || !query.Restricted(types) {
		for _, id := range ids {
			seen[id] = true
		}
		return seen, nil
	}
	if known, ok := knownMembers(who, types, ids); ok {
		return known, nil
	}
	w, s := f.writer(who), query.NewSight(types, readerOf(who))
	for len(ids) > 0 {
		n := min(len(ids), db.MaxIn)
		if err := readSeen(ctx, q, w.Block(s, ids[:n], nil), seen); err != nil {
			return nil, fmt.Errorf("find the assets that member %d sees: %w", who.Member, err)
		}
		ids = ids[n:]
	}
	return seen, nil
}

// knownMembers does what Seen does, without a query. It returns false if some types are not Member,
// or if it is not known which members the actor sees.
func knownMembers(who auth.Actor, types []*meta.Type, ids []int64) (map[int64]bool, bool) {
	for _, t := range types {
		if !t.Seen.Shared {
			return nil, false
		}
	}
	seen := make(map[int64]bool, len(ids))
	for _, id := range ids {
		sees, known := who.SeesMember(id)
		if !known {
			return nil, false
		}
		seen[id] = sees
	}
	return seen, true
}

func readSeen(ctx context.Context, q db.Querier, st sqlgen.Statement, into map[int64]bool) error {
	return db.Each(ctx, q, st.SQL, st.Args, func(row db.Scanner) error {
		var id int64
		err := row.Scan(&id)
		into[id] = true
		return err
	})
}
