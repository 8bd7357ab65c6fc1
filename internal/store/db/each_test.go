package db_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestEach(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		const three = `SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT ?`
		all, err := db.Column[int](ctx, d, three, 3)
		if slices.Sort(all); err != nil || !slices.Equal(all, []int{1, 2, 3}) {
			t.Errorf("%v, %v", all, err)
		}
		if none, err := db.Column[int](ctx, d, `SELECT 1 FROM session WHERE member_id = ?`, -1); err != nil || none != nil {
			t.Errorf("no rows: %v, %v", none, err)
		}
		stop := errors.New("stop")
		for range 100 { // each round would hold a connection if the rows stayed open
			n := 0
			err := db.Each(ctx, d, three, []any{3}, func(db.Scanner) error { n++; return stop })
			if n != 1 || !errors.Is(err, stop) {
				t.Fatalf("%d rows, %v", n, err)
			}
		}
		if _, err := db.Column[int](ctx, d, `SELECT 'a' WHERE ? = 1`, 1); err == nil {
			t.Error("text was scanned as a number")
		}
	})
}

// The number of bytes that one transaction removes when old rows are pruned is limited.
func TestRemovable(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		for _, c := range []struct {
			sizes []any
			ids   int
			more  bool
		}{
			{[]any{1, 2, 3}, 3, false},
			{[]any{20 << 20, 20 << 20, 1}, 1, true},
			{[]any{100 << 20, 1, 1}, 1, true},
			{[]any{1, 1, 100 << 20}, 2, true},
		} {
			ids, more, err := db.Removable(t.Context(), d, `SELECT 'a', ? UNION ALL SELECT 'b', ? UNION ALL SELECT 'c', ?`, c.sizes...)
			if len(ids) != c.ids || more != c.more || err != nil {
				t.Errorf("of %v: %v, more is %v, %v", c.sizes, ids, more, err)
			}
		}
	})
}

func TestInChunks(t *testing.T) {
	ids := make([]int, db.MaxIn+1)
	for i := range ids {
		ids[i] = i
	}
	var lengths []int
	for in, args := range db.InChunks(ids) {
		if len(in) != 2*len(args)+1 {
			t.Errorf("%d arguments for %s", len(args), in)
		}
		lengths = append(lengths, len(args))
	}
	if !slices.Equal(lengths, []int{db.MaxIn, 1}) {
		t.Error(lengths)
	}
	for range db.InChunks([]int64{}) {
		t.Error("a list of no values")
	}
}
