package change

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// during is an SQL condition for rows that began or ended in the range of moments of the steps.
const during = " AND (since_moment BETWEEN ? AND ? OR until_moment BETWEEN ? AND ?)"

// edges adds edges to the steps whose version has Linked set to true. It runs one statement for
// each type and for each ChunkSize steps of the type.
func (l *Loader) edges(ctx context.Context, q db.Querier, steps []Step, at map[At]*Step) error {
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

// The parts of the UNION in edgesOf. The part with texts comes first, because SQLite sorts with the
// collation of the first part.
const (
	ofValues = iota
	ofForward
	ofBack
)

func (l *Loader) edgesOf(ctx context.Context, q db.Querier, t *meta.Type, ids []int64, span [4]any, at map[At]*Step) error {
	p := l.differ.types[t]
	in, list := db.InArgs(ids)
	var parts []string
	var args []any
	add := func(part int, attrs map[int]*meta.Attr, columns, where string) {
		if len(attrs) > 0 {
			parts = append(parts, "SELECT "+strconv.Itoa(part)+" AS part, "+columns+" IN ("+codes(attrs)+")"+where+" IN "+in+during)
			args = append(append(args, list...), span[:]...)
		}
	}
	own := " AND from_type = " + strconv.Itoa(t.Code) + " AND from_id"
	add(ofValues, p.values, "attribute, from_id, since_moment, until_moment, 0, value FROM asset_value WHERE attribute", own)
	add(ofForward, p.forward, "relation, from_id, since_moment, until_moment, to_id, NULL FROM asset_link WHERE relation", own)
	add(ofBack, p.back, "relation, to_id, since_moment, until_moment, from_id, NULL FROM asset_link WHERE relation", " AND to_id")
	if len(parts) == 0 {
		return nil
	}
	return addEdges(ctx, q, strings.Join(parts, " UNION ALL ")+" ORDER BY 1, 2, 3, 6, 7", args,
		[]map[int]*meta.Attr{ofValues: p.values, ofForward: p.forward, ofBack: p.back}, at)
}

// addEdges adds each row to the steps at whose moments the row began or ended.
func addEdges(ctx context.Context, q db.Querier, query string, args []any, attrs []map[int]*meta.Attr, at map[At]*Step) error {
	return db.Each(ctx, q, query, args, func(row db.Scanner) error {
		var part, code int
		var id, since, until, other int64
		var text sql.NullString
		if err := row.Scan(&part, &code, &id, &since, &until, &other, &text); err != nil {
			return err
		}
		e := Edge{Attr: attrs[part][code], Value: other}
		if part == ofValues {
			e.Value = text.String
		}
		if s := at[At{id, since}]; s != nil {
			s.Edges = append(s.Edges, e)
		}
		if s := at[At{id, until}]; s != nil {
			e.Ended = true
			s.Edges = append(s.Edges, e)
		}
		return nil
	})
}
