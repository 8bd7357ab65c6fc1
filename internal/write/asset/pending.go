package asset

import (
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// A batch allocates its moments, Numbers and ranks only when it is written, because other
// transactions then wait for their counters. Until then, values of the types in this file are
// placeholders. The writer replaces the placeholders.

// moment is a moment of the history. A negative number is a placeholder for a moment of the batch:
// -1 is the first.
type moment int64

// forever is the moment at which current versions end.
const forever = moment(db.Forever)

// in returns the allocated moment, or m itself if m is not a placeholder.
func (m moment) in(got allocation) moment {
	if m < 0 {
		return moment(got.moment) - m - 1
	}
	return m
}

// instant is an instant in UTC microseconds, or batchTime.
type instant int64

// batchTime is the instant of the batch.
const batchTime instant = -1

// pending is a placeholder in a slot. in returns the allocated value.
type pending interface {
	in(got allocation) any
}

// numbered is the placeholder for a Number.
type numbered struct {
	typ *meta.Type
	nth int64 // position among the new Numbers of the type in this batch; the first is 0
}

func (n numbered) in(got allocation) any {
	return numberText(n.typ.NumberPrefix, got.first[numberSequence(n.typ)]+n.nth)
}
