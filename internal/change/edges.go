package change

import (
	"context"
	"slices"
	"strconv"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/meta"
)

// during selects the rows that began or ended at the moments of the steps.
const during = " AND (since_moment BETWEEN ? AND ? OR until_moment BETWEEN ? AND ?)"

// edges adds the edges of the linked steps: at most three statements per type
// and ChunkSize steps.
func (l *Loader) edges(ctx context.Context, q db.Querier, steps []Step, at map[key]*Step) error {
	ids := map[*meta.Type][]int64{}
	var first, last int64
	for i := range steps {
		v := &steps[i].Now
		if !v.Linked {
			continue
		}
		if first == 0 || v.Moment < first {
			first = v.Moment
		}
		last = max(last, v.Moment)
		ids[v.Type] = append(ids[v.Type], v.ID)
	}
	for t, all := range ids {
		for part := range slices.Chunk(all, ChunkSize) {
			if err := l.edgesOf(ctx, q, t, part, [4]any{first, last, first, last}, at); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *Loader) edgesOf(ctx context.Context, q db.Querier, t *meta.Type, ids []int64, span [4]any, at map[key]*Step) error {
	p := l.differ.types[t]
	in, args := db.InArgs(ids)
	args = append(args, span[:]...)
	own := " AND from_type = " + strconv.Itoa(t.Code) + " AND from_id IN " + in + during
	if len(p.forward) > 0 {
		query := "SELECT relation, from_id, since_moment, until_moment, to_id FROM asset_link WHERE relation IN (" +
			codes(p.forward) + ")" + own
		if err := addEdges[int64](ctx, q, query, args, p.forward, at); err != nil {
			return err
		}
	}
	if len(p.values) > 0 {
		query := "SELECT attribute, from_id, since_moment, until_moment, value FROM asset_value WHERE attribute IN (" +
			codes(p.values) + ")" + own
		if err := addEdges[string](ctx, q, query, args, p.values, at); err != nil {
			return err
		}
	}
	if len(p.back) == 0 {
		return nil
	}
	query := "SELECT relation, to_id, since_moment, until_moment, from_id FROM asset_link WHERE relation IN (" +
		codes(p.back) + ") AND to_id IN " + in + during
	return addEdges[int64](ctx, q, query, args, p.back, at)
}

// addEdges adds rows to the steps at whose moments they began or ended.
func addEdges[V int64 | string](ctx context.Context, q db.Querier, query string, args []any,
	attrs map[int]*meta.Attr, at map[key]*Step,
) error {
	return db.Each(ctx, q, query+" ORDER BY 1, 2, 5", args, func(row db.Scanner) error {
		var code int
		var id, since, until int64
		var value V
		if err := row.Scan(&code, &id, &since, &until, &value); err != nil {
			return err
		}
		if s := at[key{id, since}]; s != nil {
			s.Edges = append(s.Edges, Edge{Attr: attrs[code], Value: value})
		}
		if s := at[key{id, until}]; s != nil {
			s.Edges = append(s.Edges, Edge{Attr: attrs[code], Value: value, Ended: true})
		}
		return nil
	})
}
