package find

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/query/encode"
)

// readChildren reads the rows of a branch for a block of parents, in the order of the branch. If the database would
// hold the long texts of all rows in memory to sort them, one statement finds the order, and another reads the rows.
func (x *executor) readChildren(ctx context.Context, s *encode.Set, b *query.Branch, ids, moments []int64) error {
	if !x.w.Dialect.SortsWhole || len(b.Order) == 0 || !b.HasLongText() {
		return x.readInto(ctx, s, x.w.Children(b, ids, moments))
	}
	width := query.CellParent + 1
	if b.Moment != nil {
		width = query.CellParentMoment + 1
	}
	width = max(width, b.AtCell+1) // the moment at which the branches below a row are read
	keys, rows := *b, *b
	keys.Cells, rows.Order = b.Cells[:width], nil
	sorted, err := x.read(ctx, x.w.Children(&keys, ids, moments), &b.Body, width)
	if err != nil {
		return err
	}
	first := s.Len()
	if err := x.readInto(ctx, s, x.w.Children(&rows, ids, moments)); err != nil {
		return err
	}
	if s.Len()-first != sorted.Len() {
		return fmt.Errorf("%d rows have an order, and %d were read", sorted.Len(), s.Len()-first)
	}
	s.Arrange(first, places(sorted, s, first, width))
	return nil
}

// places returns for each row of sorted the number of the row of s with the same first cells. Rows of s before the
// row first do not count. Rows with the same first cells are equal.
func places(sorted, s *encode.Set, first, width int) []int32 {
	byKey := func(s *encode.Set, first int) []int32 {
		list := inOrder(s.Len())[first:]
		slices.SortStableFunc(list, func(a, b int32) int {
			for c := range width {
				if n := cmp.Compare(s.Cell(a, c).N, s.Cell(b, c).N); n != 0 {
					return n
				}
			}
			return 0
		})
		return list
	}
	found := make([]int32, sorted.Len())
	rows := byKey(s, first)
	for i, row := range byKey(sorted, 0) {
		found[row] = rows[i]
	}
	return found
}
