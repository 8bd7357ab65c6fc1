package history

import (
	"context"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
)

// The rows of the table sequence for the removal of history.
const (
	rowHorizon = "horizon"      // value: the moment of the horizon; stamped_at: its instant
	rowFeed    = "horizon feed" // last place in the feed with a removed change; value: position; stamped_at: moment
	rowPruned  = "pruned"       // value: rows that ended up to this moment are removed
)

// Horizon is the moment from which history is complete. The zero value means that all history is
// kept.
type Horizon struct {
	Moment int64
	At     int64 // instant of the moment, in UTC microseconds
}

// Of reads the horizon. The read that depends on the horizon should use the same q.
func Of(ctx context.Context, q db.Querier) (Horizon, error) {
	return one(ctx, q, rowHorizon)
}

// one reads a row of the table sequence. Without the row, nothing was removed and the result is
// zero.
func one(ctx context.Context, q db.Querier, name string) (h Horizon, err error) {
	err = q.QueryRow(ctx, `SELECT value, stamped_at FROM sequence WHERE name = ?`, name).Scan(&h.Moment, &h.At)
	if fault.KindOf(err) == fault.NotFound {
		err = nil
	}
	return h, err
}

// MomentOf returns the last moment whose stamp is not later than an instant, and the horizon. The
// instant is the parameter at, in UTC microseconds.
// Errors: fault.Invalid for an instant before the horizon.
func MomentOf(ctx context.Context, q db.Querier, at int64) (int64, Horizon, error) {
	var moment, kept, since *int64
	const of = ` FROM sequence WHERE name = '` + rowHorizon + `')`
	err := q.QueryRow(ctx, `SELECT MAX(last_moment), (SELECT value`+of+`, (SELECT stamped_at`+of+` FROM moment_stamp WHERE at <= ?`, at).Scan(&moment, &kept, &since)
	if err != nil {
		return 0, Horizon{}, err
	}
	h := Horizon{or0(kept), or0(since)}
	return or0(moment), h, h.check(at)
}

func or0(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// check returns an error for an instant before the horizon. The instant is the parameter at, in UTC
// microseconds.
// Errors: fault.Invalid.
func (h Horizon) check(at int64) error {
	if h.Moment > 0 && at < h.At {
		return h.gone()
	}
	return nil
}

// CheckMoment returns an error for a moment before the horizon. Errors: fault.Invalid.
func (h Horizon) CheckMoment(moment int64) error {
	if moment < h.Moment {
		return h.gone()
	}
	return nil
}

// gone returns the error for a read before the horizon. Its kind is fault.Invalid.
func (h Horizon) gone() error {
	return fault.Invalidf(fault.NoPlace, "History is kept from %s on; what was before is gone", h.Since())
}

// Since returns the instant of the horizon as text, for example 2026-08-27T10:00:00.000Z.
func (h Horizon) Since() string {
	return time.UnixMicro(h.At).UTC().Format("2006-01-02T15:04:05.000Z")
}

// Place is a place in the feed. It is after the change with the moment Moment, in the write at the
// position Position.
type Place struct{ Position, Moment int64 }

// CheckFeed returns an error if changes after a place in the feed are removed.
// Errors: fault.Invalid.
func CheckFeed(ctx context.Context, q db.Querier, at Place) error {
	gone, err := one(ctx, q, rowFeed)
	if err != nil || at.Position > gone.Moment || at.Position == gone.Moment && at.Moment >= gone.At {
		return err
	}
	h, err := Of(ctx, q)
	if err == nil {
		err = fault.Invalidf(fault.NoPlace, "Changes are kept from %s on, and some changes after this place were removed: read everything again, and continue from now", h.Since())
	}
	return err
}
