package asset

import (
	"context"
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// edgesFrom returns the edges that begin at an asset. It loads the edges with a code if they
// are not loaded.
func (l *loaded) edgesFrom(ctx context.Context, t *meta.Type, id int64, code int) (*edgeSet, error) {
	s := l.edgeSet(t.Code, id)
	if s.has(code) {
		return s, nil
	}
	return s, l.loadEdges(ctx, code, t.Code, []int64{id})
}

// edgesTo returns the edges that begin at the asset id. It loads at least those edges with a code that end at the
// asset to. If the batch creates that asset, there are none, and nothing is read. So many new assets may refer to one
// asset, and none of them reads the references of the others.
func (l *loaded) edgesTo(ctx context.Context, t *meta.Type, id int64, code int, to int64) (*edgeSet, error) {
	if w := l.rows[to]; w != nil && w.isNew {
		return l.edgeSet(t.Code, id), nil
	}
	return l.edgesFrom(ctx, t, id, code)
}

func (l *loaded) edgeSet(typ int, id int64) *edgeSet {
	s := l.edgeSets[id]
	if s == nil {
		s = &edgeSet{typ: typ}
		l.edgeSets[id] = s
	}
	return s
}

// loadEdges reads the current edges with one code that begin at assets of one type. It skips
// assets whose edges with that code are loaded.
func (l *loaded) loadEdges(ctx context.Context, code, fromType int, ids []int64) error {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id int64) bool {
		s := l.edgeSet(fromType, id)
		known := s.has(code)
		if !known {
			s.loaded = append(s.loaded, code)
		}
		return known
	})
	query, key := `SELECT from_id, to_id, since_moment FROM asset_link WHERE relation = ?`, code
	if code < 0 {
		query, key = `SELECT from_id, value, since_moment FROM asset_value WHERE attribute = ?`, -code
	}
	for in, args := range db.InChunks(ids) {
		err := db.Each(ctx, l.s.tx, query+` AND from_type = ? AND until_moment = ? AND from_id IN `+in,
			append([]any{key, fromType, db.Forever}, args...),
			func(scan db.Scanner) error { return l.scanEdge(scan, code, fromType) })
		if err != nil {
			return fmt.Errorf("load edges: %w", err)
		}
	}
	return nil
}

func (l *loaded) scanEdge(scan db.Scanner, code, fromType int) error {
	e := &edge{code: code, fromType: fromType, until: forever, stored: true}
	end := any(&e.to)
	if code < 0 {
		end = &e.text
	}
	if err := scan.Scan(&e.from, end, &e.since); err != nil {
		return err
	}
	s := l.edgeSets[e.from]
	s.add(e)
	return nil
}

// pointsTo returns the id of the target of a to-one relation of a row, or noID if there is no
// target.
func (l *loaded) pointsTo(ctx context.Context, w *row, a *meta.Attr) (int64, error) {
	if a.Place.Kind == meta.InColumn {
		return w.cur.refOr(a.Place.Slot), nil
	}
	edges, err := l.edgesFrom(ctx, w.typ, w.id, a.Place.Code)
	if err != nil {
		return noID, err
	}
	if e := edges.one(a.Place.Code); e != nil {
		return e.to, nil
	}
	return noID, nil
}

// linkedTo returns the ids of the assets whose relation refers to an asset, in ascending order.
// The relation must be stored as links. typ is the name of a type that has the relation.
func (l *loaded) linkedTo(ctx context.Context, typ, relation string, to int64) ([]int64, error) {
	t, ok := l.s.e.model.Type(typ)
	if !ok {
		return nil, UnknownType(typ)
	}
	a, ok := t.Attr(relation)
	if !ok {
		return nil, unknownAttr(t, relation)
	}
	query := `SELECT from_id FROM asset_link WHERE relation = ? AND to_id = ? AND until_moment = ? ORDER BY from_id`
	ids, err := db.Column[int64](ctx, l.s.tx, query, a.Place.Code, to, db.Forever)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", typ, err)
	}
	return ids, nil
}
