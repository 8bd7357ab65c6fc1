package asset

import (
	"context"
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset/scopes"
)

// Known describes an asset that Lookup has found.
type Known struct {
	OID     oid.OID // Oid with the concrete type
	Moment  int64   // moment of the last change
	Deleted bool    // true if the asset is deleted or in a hidden project
	Gone    bool    // true if the asset itself is deleted
}

// Lookup looks up a list of Oids. It returns the assets that exist and that the actor may see,
// including deleted assets. If it does not find one of the Oids, it calls db.Missed, which has an
// effect only if q is a write transaction.
func (e *Engine) Lookup(ctx context.Context, q db.Querier, who auth.Actor, all []oid.OID) (map[oid.OID]Known, error) {
	wanted := make(map[int64][]oid.OID, len(all))
	ids := make([]int64, 0, len(all))
	for _, o := range all {
		if t, ok := e.model.Type(o.Type); ok {
			id := t.Stored(o.ID)
			wanted[id] = append(wanted[id], o)
			ids = append(ids, id)
		}
	}
	found := make(map[oid.OID]Known, len(all))
	ruled := ruledAssets{}
	for in, args := range db.InChunks(ids) {
		query := `SELECT id, type, state, moment, scope_id, ` + scopes.IsHidden(who) + ` FROM asset WHERE id IN ` + in
		err := db.Each(ctx, q, query, args, func(scan db.Scanner) error {
			return e.scanKnown(scan, who, wanted, found, &ruled)
		})
		if err != nil {
			return nil, fmt.Errorf("look up assets: %w", err)
		}
	}
	seen, err := e.finder.Seen(ctx, q, who, ruled.types, ruled.ids)
	for _, id := range ruled.ids {
		if seen[id] {
			continue
		}
		for _, o := range wanted[id] {
			delete(found, o)
		}
	}
	if slices.ContainsFunc(all, func(o oid.OID) bool { _, ok := found[o]; return !ok }) {
		db.Missed(q)
	}
	return found, err
}

// LockFound locks assets that a query of the request has found, in the order of their ids.
// written is true if other transactions may have written these assets since the query. On a
// database that runs one write transaction at a time, LockFound does nothing and returns false.
func (s *Session) LockFound(ctx context.Context, found []oid.OID) (written bool, err error) {
	dialect := s.e.db.Dialect
	if dialect.IsAlone {
		return false, nil
	}
	ids := make([]int64, 0, len(found))
	for _, o := range found {
		if id, ok := storedID(s.e.model, o); ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for in, args := range db.InChunks(slices.Compact(ids)) {
		query := `SELECT id FROM asset WHERE id IN ` + in + ` ORDER BY id` + dialect.ForUpdate
		if _, err := db.Column[int64](ctx, s.tx, query, args...); err != nil {
			return false, fmt.Errorf("lock the found assets: %w", err)
		}
	}
	return true, nil
}

// ruledAssets are assets whose types have a rule that decides who sees them (meta.Type.Seen).
type ruledAssets struct {
	types []*meta.Type
	ids   []int64
}

func (r *ruledAssets) add(id int64, t *meta.Type) {
	if r.ids = append(r.ids, id); !slices.Contains(r.types, t) {
		r.types = append(r.types, t)
	}
}

// scanKnown adds an asset to found if the actor may see its scope. If the type of the asset has a
// rule, scanKnown always adds the asset to found, and also to ruled.
func (e *Engine) scanKnown(
	scan db.Scanner, who auth.Actor, wanted map[int64][]oid.OID, found map[oid.OID]Known, ruled *ruledAssets,
) error {
	var id, moment int64
	var code, state int
	var scope *int64
	var hidden bool
	if err := scan.Scan(&id, &code, &state, &moment, &scope, &hidden); err != nil {
		return err
	}
	t, ok := e.model.TypeByCode(code)
	switch {
	case !ok, !who.Bounds.Reads(t):
		return nil
	case !t.Seen.IsZero():
		ruled.add(id, t)
	case !sees(who, scope):
		return nil
	}
	gone := state == meta.StateDeleted
	for _, o := range wanted[id] {
		if as, _ := e.model.Type(o.Type); t.IsA(as) {
			found[o] = Known{OID: oid.OID{Type: t.Name, ID: t.Shown(id)}, Moment: moment, Deleted: gone || hidden, Gone: gone}
		}
	}
	return nil
}

// sees reports whether an actor may read assets with a security scope. scope is nil for assets
// without a security scope, which everyone may read.
func sees(who auth.Actor, scope *int64) bool { return scope == nil || who.Reads(*scope) }
