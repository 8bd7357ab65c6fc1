package asset

import (
	"strconv"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset/rank"
	"github.com/alds-dev/alds/internal/write/asset/sequence"
)

// A batch allocates its moments, Numbers and ranks only when it is written. The reason: after the
// allocation, other transactions wait for the counters. Until then, values of the types in this
// file are placeholders. The writer replaces the placeholders.

// moment is a moment of the history. A negative number is a placeholder for a moment of the
// batch: -1 is the first moment, -2 the second.
type moment int64

// forever is the moment at which current versions end.
const forever = moment(db.Forever)

// in returns the allocated moment, or m itself if m is not a placeholder.
func (m moment) in(got sequence.Allocation) moment {
	if m < 0 {
		return moment(got.Moment) - m - 1
	}
	return m
}

// instant is an instant in UTC microseconds, or batchTime.
type instant int64

// batchTime is the placeholder for the instant of the batch.
const batchTime instant = -1

// pending is a placeholder in a slot. in returns the allocated value.
type pending interface {
	in(got sequence.Allocation) any
}

// numbered is the placeholder for a Number.
type numbered struct {
	typ *meta.Type
	nth int64 // position among the new Numbers of the type in this batch; the first is 0
}

func (n numbered) in(got sequence.Allocation) any {
	return numberText(n.typ.NumberPrefix, got.First[numberSequence(n.typ)]+n.nth)
}

// numberSequence returns the name of the sequence of a type's Numbers.
func numberSequence(t *meta.Type) string { return "number:" + t.Name }

// numberText returns the text of a Number: the prefix and at least five digits.
func numberText(prefix string, n int64) string {
	b := append(make([]byte, 0, len(prefix)+8), prefix...)
	for limit := int64(10000); limit > n && limit > 1; limit /= 10 {
		b = append(b, '0')
	}
	return string(strconv.AppendInt(b, n, 10))
}

// ranked is the placeholder for a new rank, which is after all others in its rank space.
type ranked struct {
	sequence string
	nth      int64 // position among the new ranks of the sequence in this batch; the first is 1
}

func (r ranked) in(got sequence.Allocation) any { return rank.Nth(got.First[r.sequence], r.nth) }
