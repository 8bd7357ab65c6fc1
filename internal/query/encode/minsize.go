package encode

import (
	"math"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query"
)

// MinSize returns, for each row of a set, the minimum number of bytes that Rows writes for it,
// including nested selects. It returns math.MaxInt64 for a larger number. MinSize takes one step
// for each row that was read, even if the row appears several times in the answer.
func MinSize(s *Set) []int64 {
	own := minSizeOfRow(s.Body)
	sums := make([]int64, s.Len())
	for i := range sums {
		sums[i] = own
	}
	for _, c := range s.Body.Columns {
		if !c.Many() || c.Only != nil {
			continue
		}
		l := s.Lists[c.Branch]
		of := minSizeOfGroups(l, c)
		for i, g := range l.Of {
			sums[i] = AddSize(sums[i], of[g])
		}
	}
	return sums
}

// minSizeOfGroups returns the minimum number of bytes of each group of a list.
func minSizeOfGroups(l List, c query.Column) []int64 {
	of := make([]int64, len(l.Groups))
	if c.Item >= 0 {
		return of
	}
	rows := MinSize(l.Set)
	for i, g := range l.Groups {
		of[i] = int64(max(0, len(g.Rows)-1)) // commas
		for _, r := range g.Rows {
			of[i] = AddSize(of[i], rows[r])
		}
	}
	return of
}

// AddSize adds numbers of bytes. The result is at most math.MaxInt64.
func AddSize(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// minSizeOfRow returns the number of bytes of a row with the shortest possible values.
func minSizeOfRow(b *query.Body) int64 {
	n := int64(len(`{"_oid":"A:1"}`))
	for _, c := range b.Columns {
		if c.Only != nil {
			continue
		}
		n += int64(len(`,"":""`) + len(c.Name))
		if c.Kind == meta.Relation && !c.Many() {
			n += int64(len(`{"_oid":"A:1"}`) - len(`""`))
		}
	}
	return n
}
