package history

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// edge is the key of a row of asset_link or asset_value, and the moment at which the row ended.
type edge struct {
	code, fromType       int
	from, to             int64  // to: only of asset_link
	folded               []byte // only of asset_value
	sinceMoment, endedAt int64
}

// table is a table of edges.
type table struct {
	name, code, key string // code and key are columns: the code of the attribute, and the other asset or the text
	kind            meta.PlaceKind
}

var (
	links  = table{"asset_link", "relation", "to_id", meta.InLinks}
	values = table{"asset_value", "attribute", "folded", meta.InValues}
)

// edges removes the links and values that ended at or before s.to and belong to the assets in next.
// In the versions at which a removed link or value began or ended, it sets the column linked to 1.
// The value 1 means that the number of links and values is not known.
func (s *step) edges(ctx context.Context, next []version) error {
	ids := map[*meta.Type][]int64{}
	for _, v := range next {
		if t, ok := s.m.TypeByCode(v.code); ok && v.linked && v.moment > v.created {
			ids[t] = append(ids[t], v.id)
		}
	}
	for t, of := range ids {
		of = unique(of)
		for _, x := range []table{links, values} {
			if err := s.endedOf(ctx, x, x.kind, t, of, ` AND from_type = ? AND from_id`, t.Code); err != nil {
				return fmt.Errorf("remove rows of %s: %w", x.name, err)
			}
		}
		if err := s.endedOf(ctx, links, meta.InLinksBack, t, of, ` AND to_id`); err != nil {
			return fmt.Errorf("remove rows of %s: %w", links.name, err)
		}
	}
	return nil
}

// maxRanges is the maximum number of ranges of an index in one statement. With more ranges, servers
// do not use the index.
const maxRanges = 1000

// endedOf removes the ended rows of some assets of a type from a table. It queries only the relations
// or attributes of the type that have rows in the table. side is the condition in SQL up to the
// column with the ids of the assets; args are its arguments.
func (s *step) endedOf(ctx context.Context, x table, kind meta.PlaceKind, t *meta.Type, ids []int64, side string, args ...any) error {
	there, err := s.there(ctx, x)
	if err != nil {
		return err
	}
	codes := slices.DeleteFunc(codesOf(t, kind), func(code int64) bool { return !slices.Contains(there, code) })
	if len(codes) == 0 {
		return nil
	}
	for some := range slices.Chunk(ids, max(1, maxRanges/db.InSize(len(codes)))) {
		if err := s.ended(ctx, x, codes, some, side, args...); err != nil {
			return err
		}
	}
	return nil
}

// there returns the codes that have rows in a table. It reads one entry of the index for each code.
func (s *step) there(ctx context.Context, x table) ([]int64, error) {
	if codes, ok := s.codes[x.name]; ok {
		return codes, nil
	}
	var codes []int64
	for last := int64(math.MinInt16); ; {
		var next *int64
		if err := s.tx.QueryRow(ctx, `SELECT MIN(`+x.code+`) FROM `+x.name+` WHERE `+x.code+` > ?`, last).Scan(&next); err != nil {
			return nil, err
		}
		if next == nil {
			s.codes[x.name] = codes
			return codes, nil
		}
		last = *next
		codes = append(codes, last)
	}
}

// codesOf returns the codes of those relations or attributes of a type that are stored in one kind
// of place. It includes retired attributes.
func codesOf(t *meta.Type, kind meta.PlaceKind) []int64 {
	var codes []int64
	for _, a := range slices.Concat(t.Attrs, t.Kept) {
		if a.Place.Kind == kind {
			codes = append(codes, int64(a.Place.Code))
		}
	}
	return unique(codes)
}

// ended removes at most stepRows rows of some assets that ended at or before s.to. It sets s.full if
// there may be more. codes are codes of relations or attributes; side and args are as in endedOf.
func (s *step) ended(ctx context.Context, x table, codes, ids []int64, side string, args ...any) error {
	in, all := db.InArgs(codes)
	of, list := db.InArgs(ids)
	all = append(append(append(all, args...), list...), s.to, stepRows)
	gone, err := db.Collect(ctx, s.tx, `SELECT `+x.code+`, from_type, from_id, `+x.key+`, since_moment, until_moment FROM `+x.name+
		` WHERE `+x.code+` IN `+in+side+` IN `+of+` AND until_moment <= ? LIMIT ?`, all, func(row db.Scanner) (e edge, err error) {
		other := any(&e.to)
		if x == values {
			other = &e.folded
		}
		return e, row.Scan(&e.code, &e.fromType, &e.from, other, &e.sinceMoment, &e.endedAt)
	})
	if err != nil || len(gone) == 0 {
		return err
	}
	s.full = s.full || len(gone) == stepRows
	return s.removeEdges(ctx, x, gone)
}

func (s *step) removeEdges(ctx context.Context, x table, gone []edge) error {
	var moments []int64
	for part := range slices.Chunk(gone, 100) {
		where, args := "", []any(nil)
		for _, e := range part {
			other := any(e.to)
			if x == values {
				other = string(e.folded)
			}
			where += " OR " + x.code + " = ? AND from_type = ? AND from_id = ? AND " + x.key + " = ? AND since_moment = ?"
			args = append(args, e.code, e.fromType, e.from, other, e.sinceMoment)
			moments = append(moments, e.sinceMoment, e.endedAt)
		}
		if _, err := s.tx.Exec(ctx, `DELETE FROM `+x.name+` WHERE `+where[len(" OR "):], args...); err != nil {
			return err
		}
	}
	s.n.links += len(gone)
	for in, args := range db.InChunks(unique(moments)) {
		if _, err := s.tx.Exec(ctx, `UPDATE asset_version SET linked = 1 WHERE linked > 1 AND moment IN `+in, args...); err != nil {
			return err
		}
	}
	return nil
}
