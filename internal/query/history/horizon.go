package history

import (
	"context"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
)

// The rows of the table sequence that tell how far history was removed.
const (
	rowHorizon = "horizon"      // value: the moment; stamped_at: its instant
	rowFeed    = "horizon feed" // the last place of the feed that is gone. value: the position; stamped_at: the moment
	rowPruned  = "pruned"       // value: the moment up to which what has ended is removed
)

// Horizon is from when on history is kept. The zero value: all of it is.
type Horizon struct {
	Moment int64
	At     int64 // its instant, in UTC microseconds
}

// Of returns the horizon that q sees.
func Of(ctx context.Context, q db.Querier) (Horizon, error) {
	return one(ctx, q, rowHorizon)
}

// one reads a row of two numbers; a database without it has lost nothing.
func one(ctx context.Context, q db.Querier, name string) (h Horizon, err error) {
	err = q.QueryRow(ctx, `SELECT value, stamped_at FROM sequence WHERE name = ?`, name).Scan(&h.Moment, &h.At)
	if fault.KindOf(err) == fault.NotFound {
		err = nil
	}
	return h, err
}

// MomentOf returns the highest moment stamped at or before an instant, and the horizon.
// Errors: fault.Invalid for an instant before the horizon.
func MomentOf(ctx context.Context, q db.Querier, at int64) (int64, Horizon, error) {
	var moment, kept, since *int64
	const of = ` FROM sequence WHERE name = '` + rowHorizon + `')`
	err := q.QueryRow(ctx, `SELECT MAX(last_moment), (SELECT value`+of+`, (SELECT stamped_at`+of+` FROM moment_stamp WHERE at <= ?`, at).Scan(&moment, &kept, &since)
	if err != nil {
		return 0, Horizon{}, err
	}
	h := Horizon{or0(kept), or0(since)}
	return or0(moment), h, h.Check(at)
}

func or0(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// Check refuses an instant before the horizon. Errors: fault.Invalid.
func (h Horizon) Check(at int64) error {
	if h.Moment > 0 && at < h.At {
		return h.Gone()
	}
	return nil
}

// CheckMoment refuses a moment before the horizon. Errors: fault.Invalid.
func (h Horizon) CheckMoment(moment int64) error {
	if moment < h.Moment {
		return h.Gone()
	}
	return nil
}

// Gone is the error of what lies before the horizon.
func (h Horizon) Gone() error {
	return fault.Invalidf(fault.NoPlace, "History is kept from %s on; what was before is gone", h.Since())
}

// Since is the instant of the horizon as text: 2026-08-27T10:00:00.000Z.
func (h Horizon) Since() string {
	return time.UnixMicro(h.At).UTC().Format("2006-01-02T15:04:05.000Z")
}

// Place is a place of the feed: behind a moment of the write at a position.
type Place struct{ Position, Moment int64 }

// CheckFeed refuses a place of the feed behind which changes are gone.
// Errors: fault.Invalid.
func CheckFeed(ctx context.Context, q db.Querier, at Place) error {
	gone, err := one(ctx, q, rowFeed)
	if err != nil || at.Position > gone.Moment || at.Position == gone.Moment && at.Moment >= gone.At {
		return err
	}
	h, err := Of(ctx, q)
	if err == nil {
		err = fault.Invalidf(fault.NoPlace, "Changes are kept from %s on, and some behind this place are gone: read all anew, and go on from now", h.Since())
	}
	return err
}
