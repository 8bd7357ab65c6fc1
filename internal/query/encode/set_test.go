package encode

import (
	"math"
	"testing"

	"github.com/alds-dev/alds/internal/model/value"
)

// TestTextStaysWhereItIs checks that cells stay valid while the arena grows.
func TestTextStaysWhereItIs(t *testing.T) {
	s := &Set{Width: 1}
	scan := s.Scanners()[0].(Scanner)
	long := make([]byte, 100_000)
	for i := range long {
		long[i] = 'x'
	}
	buffer := []byte("first")
	for _, v := range []any{buffer, string(long), "last", nil, int64(math.MaxInt64), true, 2.5} {
		if err := scan.Scan(v); err != nil {
			t.Fatal(err)
		}
	}
	copy(buffer, "XXXXX")
	if string(s.Cells[0].T) != "first" || len(s.Cells[1].T) != len(long) || string(s.Cells[2].T) != "last" {
		t.Errorf("texts moved: %q", s.Cells[0].T)
	}
	if s.Len() != 7 || s.Cells[3].Form != value.Null || s.Cells[4].N != math.MaxInt64 || s.Cells[5].N != 1 || s.Cells[6].F != 2.5 {
		t.Errorf("got %+v", s.Cells[3:])
	}
	if err := scan.Scan(struct{}{}); err == nil {
		t.Error("a value of an unknown type is taken")
	}
}
