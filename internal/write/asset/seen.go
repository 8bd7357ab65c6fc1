package asset

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// Some types, such as Member, have a rule that decides who may see their assets (meta.Type.Seen).
// For these types, the security scope is not enough. The SQL for the rule is the same as in
// queries.

// sees reports whether the caller may see an asset of a type with a rule. The caller may see all
// assets that the request has created.
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

// loadSeen reads which of some assets the caller may see. The types of the assets have a rule.
func (l *loaded) loadSeen(ctx context.Context, types []*meta.Type, ids []int64) error {
	found, err := l.s.e.finder.Seen(ctx, l.s.tx, l.s.Who(), types, ids)
	for _, id := range ids {
		l.seen[id] = found[id]
	}
	return err
}

// foreseeSeen calls loadSeen for all loaded references, and for some loaded rows, whose types have a rule.
func (l *loaded) foreseeSeen(ctx context.Context, rows []int64) error {
	if l.s.who.All {
		return nil
	}
	var types []*meta.Type
	var ids []int64
	add := func(id int64, t *meta.Type) {
		if t.Seen.IsZero() || l.s.createdRuled[id] {
			return
		}
		ids = append(ids, id)
		if !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	for id, a := range l.references {
		add(id, a.typ)
	}
	for _, id := range rows {
		if w := l.rows[id]; w != nil {
			add(id, w.typ)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return l.loadSeen(ctx, types, ids)
}

// Seen returns which of some assets the actor may see. ids are the stored ids of the assets, and
// types contains all their types.
func (e *Engine) Seen(
	ctx context.Context, q db.Querier, who auth.Actor, types []*meta.Type, ids []int64,
) (map[int64]bool, error) {
	return e.finder.Seen(ctx, q, who, types, ids)
}
