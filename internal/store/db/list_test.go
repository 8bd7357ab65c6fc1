package db_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestListIsExact sends values both as a list and as single arguments. The server must
// receive the same values.
func TestListIsExact(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	var floats []float64
	var ints []int64
	for range 3000 {
		f := math.Float64frombits(r.Uint64())
		if f-f == 0 {
			floats = append(floats, f, r.NormFloat64(), float64(r.IntN(1e6))/100)
		}
		ints = append(ints, int64(r.Uint64()))
	}
	texts := []string{"a", "'", `"`, `\`, "\t", "\n", "\x01", "\x7f", "\u2028", "😀", "日本", "é", "e\u0301", " a", "<&>", strings.Repeat("é", 400), "null", "1"}
	for _, d := range []*db.DB{testdb.MySQL(t), testdb.SQLite(t)} {
		t.Run(d.Dialect.Name, func(t *testing.T) {
			each(t, d, floats, func(float64) bool { return true })
			each(t, d, ints, func(int64) bool { return true })
			each(t, d, texts, d.Dialect.Listable)
			for _, s := range []string{"\x00", "a\xff"} {
				if d.Dialect.Listable(s) {
					t.Errorf("%q is listable", s)
				}
			}
		})
	}
}

// This function checks for every value that the list contains it.
func each[T any](t *testing.T, d *db.DB, values []T, fits func(T) bool) {
	t.Helper()
	sql, list := d.Dialect.List(values, false)
	var n int
	if err := d.QueryRow(t.Context(), "SELECT COUNT(*) FROM "+sql+" x", list).Scan(&n); err != nil || n != len(values) {
		t.Fatalf("%d of %d %T arrive: %v", n, len(values), values, err)
	}
	for i, v := range values {
		if !fits(v) {
			t.Errorf("%q is not listable", any(v))
			continue
		}
		if i%40 != 0 && len(values) > 100 {
			continue
		}
		if err := d.QueryRow(t.Context(), "SELECT COUNT(*) FROM "+sql+" x WHERE v = ?", list, v).Scan(&n); err != nil || n == 0 {
			t.Errorf("%v is not in the list: %v", any(v), err)
		}
	}
}
