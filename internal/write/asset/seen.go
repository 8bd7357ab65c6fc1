package asset

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// Assets of types with a rule of their own, such as members, are seen by more or less
// than their scope says (meta.Seen). The statement that decides is that of queries.

// sees reports whether the caller sees an asset of such a type. One that the request
// has made is seen.
func (l *loaded) sees(ctx context.Context, id int64, t *meta.Type) (bool, error) {
	if l.s.who.All || l.s.createdRuled[id] {
		return true, nil
	}
	if w := l.rows[id]; w != nil && w.isNew {
		return true, nil
	}
	if sees, known := l.seen[id]; known {
		return sees, nil
	}
	err := l.loadSeen(ctx, []*meta.Type{t}, []int64{id})
	return l.seen[id], err
}

// loadSeen finds out which assets of such types the caller sees.
func (l *loaded) loadSeen(ctx context.Context, types []*meta.Type, ids []int64) error {
	found, err := l.s.e.finder.Seen(ctx, l.s.tx, l.s.Who(), types, ids)
	for _, id := range ids {
		l.seen[id] = found[id]
	}
	return err
}

// foreseeSeen is loadSeen for everything that is loaded.
func (l *loaded) foreseeSeen(ctx context.Context) error {
	if l.s.who.All {
		return nil
	}
	var types []*meta.Type
	var ids []int64
	for id, a := range l.references {
		if a.typ.Seen.IsZero() || l.s.createdRuled[id] {
			continue
		}
		ids = append(ids, id)
		if !slices.Contains(types, a.typ) {
			types = append(types, a.typ)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	return l.loadSeen(ctx, types, ids)
}

// Seen returns which of the assets stored as ids, all of the given types, who sees.
func (e *Engine) Seen(ctx context.Context, q db.Querier, who auth.Actor, types []*meta.Type, ids []int64) (map[int64]bool, error) {
	return e.finder.Seen(ctx, q, who, types, ids)
}
