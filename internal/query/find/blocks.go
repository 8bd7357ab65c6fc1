package find

import (
	"context"

	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/query/encode"
	"github.com/alds-dev/alds/internal/store/db"
)

// idSize is the number of bytes that are counted for each id of a large result. It includes the
// moment of a version, and the spare capacity of slices.
const idSize = 24

// eachInBlocks calls row for all rows, which it reads block by block.
func (x *executor) eachInBlocks(ctx context.Context, row func(*encode.Set, int32) error) error {
	if err := x.readIDs(ctx); err != nil {
		return err
	}
	for from := 0; from < len(x.ids); from += db.MaxIn {
		to, before := min(from+db.MaxIn, len(x.ids)), x.sets.used
		if err := x.block(ctx, from, to, row); err != nil {
			return err
		}
		x.sets.shrink(before)
	}
	return nil
}

// readIDs reads the ids of all rows in order. A large result has only these ids in memory.
func (x *executor) readIDs(ctx context.Context) error {
	if x.haveIDs {
		return nil
	}
	x.haveIDs = true
	x.shared = x.sharedOf(&x.plan.Select)
	s := &encode.Set{Body: &query.Body{}, Width: query.CellMoment + 1 + len(x.shared.cells)}
	err := x.scan(ctx, s, x.w.IDs(x.plan, x.shared.cells...), func() error {
		x.ids = append(x.ids, s.ID(0))
		if x.plan.Moment != nil {
			x.at = append(x.at, s.Cell(0, query.CellMoment).N)
		}
		x.shared.values = append(x.shared.values, s.Cells[query.CellMoment+1:]...)
		s.Truncate(0)
		return x.sets.add(idSize + x.shared.size())
	})
	if err == nil && x.hasMore(len(x.ids)) {
		x.ids = x.ids[:x.plan.Page.Size]
	}
	return err
}

// block calls row for the rows of some ids, in the order of the ids.
func (x *executor) block(ctx context.Context, from, to int, row func(*encode.Set, int32) error) error {
	ids, at := x.ids[from:to], []int64(nil)
	if x.at != nil {
		at = x.at[from:to]
	}
	s, err := x.read(ctx, x.w.Block(x.shared.without, ids, at), &x.plan.Body, len(x.plan.Cells))
	if err != nil {
		return err
	}
	rowOf := make(map[version]int32, s.Len())
	for i := range int32(s.Len()) {
		rowOf[x.version(s, i, query.CellID, query.CellMoment, at != nil)] = i
	}
	order := make([]int32, 0, len(ids))
	for i, id := range ids {
		v := version{id: id}
		if at != nil {
			v.moment = at[i]
		}
		if r, ok := rowOf[v]; ok {
			order = append(order, r)
			x.shared.fill(s, r, x.shared.of(from+i))
		}
	}
	return x.emit(ctx, s, order, row)
}
