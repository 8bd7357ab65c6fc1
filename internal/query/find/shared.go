package find

import (
	"context"
	"slices"
	"unsafe"

	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/query/encode"
	"github.com/alds-dev/alds/internal/store/db"
)

// sharedCells are the cells of a statement that read values shared by many rows. Each
// statement evaluates them again, so they are read once for all rows instead of once per
// block.
type sharedCells struct {
	cells   []int
	without *query.Select  // the statement with NULL in place of cells
	values  []value.Scalar // values of these cells for all rows, row by row
}

func (x *executor) sharedOf(s *query.Select) sharedCells {
	c := sharedCells{cells: x.w.Shared(s), without: s}
	if len(c.cells) > 0 {
		c.without = without(s, c.cells)
	}
	return c
}

// without returns a statement with NULL in place of some of its cells.
func without(s *query.Select, cells []int) *query.Select {
	rest := *s
	rest.Cells = slices.Clone(s.Cells)
	for _, i := range cells {
		rest.Cells[i] = query.Null{}
	}
	return &rest
}

// size returns the number of bytes that the values of one row need.
func (c *sharedCells) size() int64 { return int64(len(c.cells)) * int64(unsafe.Sizeof(value.Scalar{})) }

// of returns the values of a row.
func (c *sharedCells) of(row int) []value.Scalar {
	n := len(c.cells)
	return c.values[row*n : (row+1)*n]
}

// fill puts values into the cells of a row.
func (c *sharedCells) fill(s *encode.Set, row int32, values []value.Scalar) {
	for i, cell := range c.cells {
		s.Cells[int(row)*s.Width+cell] = values[i]
	}
}

// sharedBelow has the shared cells of a branch, and their values by the ids of the rows that
// were read.
type sharedBelow struct {
	cells   sharedCells
	without *query.Branch
	known   map[int64][]value.Scalar
}

// readBelow reads the rows of a branch for a block of parents. For rows that are read for the first
// time, it also reads the shared cells, through one parent of each row.
func (x *executor) readBelow(ctx context.Context, s *encode.Set, b *query.Branch, ids, moments []int64) error {
	below := x.belowOf(b)
	if below == nil {
		return x.readChildren(ctx, s, b, ids, moments)
	}
	first := int32(s.Len())
	if err := x.readChildren(ctx, s, below.without, ids, moments); err != nil {
		return err
	}
	var parents []int64
	for i := first; i < int32(s.Len()); i++ {
		if _, ok := below.known[s.ID(i)]; !ok {
			below.known[s.ID(i)] = nil
			parents = append(parents, s.Cell(i, query.CellParent).N)
		}
	}
	if err := x.readShared(ctx, b, below, parents); err != nil {
		return err
	}
	for i := first; i < int32(s.Len()); i++ {
		below.cells.fill(s, i, below.known[s.ID(i)])
	}
	return nil
}

func (x *executor) belowOf(b *query.Branch) *sharedBelow {
	below, ok := x.below[b]
	if ok {
		return below
	}
	if cells := x.sharedOf(&b.Select); len(cells.cells) > 0 {
		rest := *b
		rest.Select = *cells.without
		below = &sharedBelow{cells: cells, without: &rest, known: map[int64][]value.Scalar{}}
	}
	if x.below == nil {
		x.below = map[*query.Branch]*sharedBelow{}
	}
	x.below[b] = below
	return below
}

// readShared reads the shared cells of the rows below some parents.
func (x *executor) readShared(ctx context.Context, b *query.Branch, below *sharedBelow, parents []int64) error {
	slices.Sort(parents)
	unsorted := *b
	unsorted.Order = nil
	for block := range slices.Chunk(slices.Compact(parents), db.MaxIn) {
		s, err := x.read(ctx, x.w.Children(&unsorted, block, nil), &b.Body, len(b.Cells))
		if err != nil {
			return err
		}
		for i := range int32(s.Len()) {
			if below.known[s.ID(i)] != nil {
				continue
			}
			values := make([]value.Scalar, len(below.cells.cells))
			for n, cell := range below.cells.cells {
				values[n] = s.Cell(i, cell)
			}
			below.known[s.ID(i)] = values
			if err := x.sets.add(groupSize + below.cells.size()); err != nil {
				return err
			}
		}
	}
	return nil
}
