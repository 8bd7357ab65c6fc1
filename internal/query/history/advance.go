package history

import (
	"context"
	"errors"
	"math"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
)

// target returns the moment to which the horizon may move. It is the last moment that is at least
// Keep ago and before all writes that still wait for their fan-out (the creation of their webhook
// deliveries). It is 0 if there is no such moment.
func (p *Pruner) target(ctx context.Context) (int64, error) {
	var moment, waiting *int64
	err := p.db.QueryRow(ctx, `SELECT (SELECT MAX(last_moment) FROM moment_stamp WHERE at <= `+p.db.Dialect.NowMicros+` - ?),`+
		` (SELECT MIN(first_moment) FROM audit WHERE fan_state = 0)`, p.Keep.Microseconds()).Scan(&moment, &waiting)
	if err != nil || moment == nil {
		return 0, err
	}
	target := *moment
	if waiting != nil && *waiting <= target {
		target = *waiting - 1
		p.Log.Warn("history is kept longer than configured, because a write waits for its fan-out", "moment", *waiting)
	}
	return target, nil
}

// errNoPlace is the error of feedGoes if a write has no place in the feed yet.
var errNoPlace = errors.New("an old write has no place in the feed")

// advance moves the horizon towards the moment target, by about stride moments. It also stores the
// place in the feed up to which changes are missing. moved reports whether the horizon has moved.
func (p *Pruner) advance(ctx context.Context, target int64) (moved bool, err error) {
	if h, err := Of(ctx, p.db); err != nil || h.Moment >= target {
		return false, err
	}
	err = p.db.Small(ctx, func(tx *db.Tx) error {
		moved = false
		var from, to, at int64
		if err := tx.QueryRow(ctx, `SELECT value FROM sequence WHERE name = '`+rowHorizon+`'`+tx.Dialect().ForUpdate).Scan(&from); err != nil || from >= target {
			return err
		}
		// The horizon is always the last moment of a stamp, a row that assigns an instant to
		// moments. So a read as of this instant is a read as of the horizon.
		const stamp = `SELECT last_moment, at FROM moment_stamp WHERE last_moment `
		err := tx.QueryRow(ctx, stamp+`BETWEEN ? AND ? ORDER BY last_moment LIMIT 1`, from+stride, target).Scan(&to, &at)
		if fault.KindOf(err) == fault.NotFound {
			err = tx.QueryRow(ctx, stamp+`<= ? ORDER BY last_moment DESC LIMIT 1`, target).Scan(&to, &at)
		}
		if fault.KindOf(err) == fault.NotFound {
			return nil
		}
		if err != nil || to <= from {
			return err
		}
		if err := p.feedGoes(ctx, tx, from, to); err != nil {
			return err
		}
		moved = true
		return set(ctx, tx, rowHorizon, to, at)
	})
	return moved, err
}

func set(ctx context.Context, tx *db.Tx, name string, value, at int64) error {
	_, err := tx.Exec(ctx, `UPDATE sequence SET value = ?, stamped_at = ? WHERE name = ?`, value, at, name)
	return err
}

// feedGoes stores a place in the feed: the last one with a change whose moment is after the moment
// from, and not after the moment to. These changes will be removed, so readers can continue only at
// this place or later.
// Errors: errNoPlace if a write has no place in the feed yet.
func (p *Pruner) feedGoes(ctx context.Context, tx *db.Tx, from, to int64) error {
	var position, last int64
	err := tx.QueryRow(ctx, `SELECT COALESCE(a.feed, ?), a.last_moment FROM asset_version v JOIN audit a ON a.id = v.audit_id`+
		` WHERE v.moment > ? AND v.moment <= ? ORDER BY COALESCE(a.feed, ?) DESC LIMIT 1`, int64(math.MaxInt64), from, to, int64(math.MaxInt64)).Scan(&position, &last)
	switch {
	case fault.KindOf(err) == fault.NotFound:
		return nil
	case err != nil:
		return err
	case position == math.MaxInt64:
		return errNoPlace
	}
	gone, err := one(ctx, tx, rowFeed)
	if err != nil || position < gone.Moment {
		return err
	}
	return set(ctx, tx, rowFeed, position, min(to, last))
}
