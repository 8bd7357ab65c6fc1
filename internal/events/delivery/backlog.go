package delivery

import (
	"context"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/lease"
)

// Backlog counts the waiting deliveries that are due now, and the waiting deliveries that become
// due later. The due deliveries include deliveries of subscriptions that are paused or have an open
// circuit breaker.
func Backlog(ctx context.Context, q db.Querier, d *db.Dialect) (due, later lease.Backlog, err error) {
	const rows = `SELECT due AS at FROM webhook_delivery WHERE state = ? AND due `
	if due, err = lease.CountBacklog(ctx, q, rows+`<= `+d.NowMicros+` ORDER BY state, due`, waiting); err == nil {
		later, err = lease.CountBacklog(ctx, q, rows+`> `+d.NowMicros+` ORDER BY state, due`, waiting)
	}
	return due, later, err
}

// Receivers returns how many enabled subscriptions are paused. It also returns how many enabled
// subscriptions have an open circuit breaker and are not paused.
func Receivers(ctx context.Context, q db.Querier, d *db.Dialect) (paused, open int, err error) {
	err = q.QueryRow(ctx, `SELECT COALESCE(SUM(paused), 0), COALESCE(SUM(CASE WHEN paused = 0 AND breaker_until > `+d.NowMicros+
		` THEN 1 ELSE 0 END), 0) FROM webhook_subscription WHERE enabled = 1`).Scan(&paused, &open)
	return paused, open, err
}
