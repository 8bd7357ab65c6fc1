package encode

import (
	"cmp"
	"fmt"
	"slices"
	"unsafe"

	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/query"
)

// Set has the rows of one statement, in their original order.
type Set struct {
	Body  *query.Body
	Width int            // cells of a row
	Cells []value.Scalar // row by row
	Lists []List         // one for each branch of Body
	arena []byte
	texts int64 // bytes of all arenas
}

// List has the rows of a branch, and assigns them to the rows of the set above. Rows of the set
// above that are the same asset share a group.
type List struct {
	Set    *Set
	Of     []int32 // the group of each row of the set above
	Groups []Group
}

// Group has the rows of a branch that belong to one asset of the set above.
type Group struct {
	Rows []int32
	text []byte // the encoded rows, stored when they are needed for the second time
	used bool
}

// group returns the group of a row of the set above.
func (l List) group(row int32) *Group { return &l.Groups[l.Of[row]] }

// Rows returns the rows that belong to a row of the set above.
func (l List) Rows(row int32) []int32 { return l.group(row).Rows }

// cellSize is the size of a cell in bytes.
const cellSize = int64(unsafe.Sizeof(value.Scalar{}))

// Size returns the size of the rows in bytes, without lists.
func (s *Set) Size() int64 { return int64(cap(s.Cells))*cellSize + s.texts }

// Len returns how many rows the set has.
func (s *Set) Len() int {
	if s.Width == 0 {
		return 0
	}
	return len(s.Cells) / s.Width
}

// Cell returns cell c of a row.
func (s *Set) Cell(row int32, c int) value.Scalar { return s.Cells[int(row)*s.Width+c] }

// Part returns a set with some rows, in the given order, and without lists.
func (s *Set) Part(rows []int32) *Set {
	p := &Set{Body: s.Body, Width: s.Width, Cells: make([]value.Scalar, 0, len(rows)*s.Width)}
	for _, r := range rows {
		p.Cells = append(p.Cells, s.Cells[int(r)*s.Width:(int(r)+1)*s.Width]...)
	}
	return p
}

// Truncate drops the rows after the first n.
func (s *Set) Truncate(n int) { s.Cells = s.Cells[:min(n, s.Len())*s.Width] }

// ID returns the stored id of a row.
func (s *Set) ID(row int32) int64 { return s.Cell(row, query.CellID).N }

// Arrange puts the rows from first on into another order. order has their numbers in that order.
func (s *Set) Arrange(first int, order []int32) {
	cells := make([]value.Scalar, 0, len(order)*s.Width)
	for _, row := range order {
		cells = append(cells, s.Cells[int(row)*s.Width:(int(row)+1)*s.Width]...)
	}
	copy(s.Cells[first*s.Width:], cells)
}

// SortByID sorts the rows by their ids.
func (s *Set) SortByID() {
	rows := slices.Collect(slices.Chunk(s.Cells, max(s.Width, 1)))
	byID := func(a, b []value.Scalar) int { return cmp.Compare(a[query.CellID].N, b[query.CellID].N) }
	if !slices.IsSortedFunc(rows, byID) {
		slices.SortStableFunc(rows, byID)
		s.Cells = slices.Concat(rows...)
	}
}

// Scanner scans one value into the set, for sql.Rows.
type Scanner struct{ s *Set }

// Scanners returns one Scanner for each cell of a row, as arguments for
// sql.Rows.Scan.
func (s *Set) Scanners() []any {
	list := make([]any, s.Width)
	for i := range list {
		list[i] = Scanner{s}
	}
	return list
}

// Scan appends a value to the set. Text is copied.
func (sc Scanner) Scan(v any) error {
	var c value.Scalar
	switch v := v.(type) {
	case []byte:
		c = text(sc.s, v)
	case string:
		c = text(sc.s, v)
	default:
		var ok bool
		if c, ok = value.Of(v); !ok {
			return fmt.Errorf("a row has a value of the unknown type %T", v)
		}
	}
	sc.s.Cells = append(sc.s.Cells, c)
	return nil
}

// text copies a text into the arena, a buffer for the texts of many cells. A full arena is replaced
// by a new one and not moved, so earlier slices stay valid.
func text[T string | []byte](s *Set, v T) value.Scalar {
	const least, most = 512, 64 << 10
	if cap(s.arena)-len(s.arena) < len(v) {
		s.arena = make([]byte, 0, max(min(2*cap(s.arena), most), least, len(v)))
		s.texts += int64(cap(s.arena))
	}
	start := len(s.arena)
	s.arena = append(s.arena, v...)
	return value.Scalar{Form: value.Text, T: s.arena[start:len(s.arena):len(s.arena)]}
}
