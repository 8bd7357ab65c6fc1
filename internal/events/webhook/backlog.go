package webhook

import (
	"context"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/lease"
)

// Backlog counts the writes that wait for their fan-out. It also counts the writes that were set
// aside because their fan-out failed too often.
func Backlog(ctx context.Context, q db.Querier) (waiting, setAside lease.Backlog, err error) {
	const rows = `SELECT at FROM audit WHERE fan_state = ? ORDER BY fan_state, fan_lease, id`
	if waiting, err = lease.CountBacklog(ctx, q, rows, 0); err == nil {
		setAside, err = lease.CountBacklog(ctx, q, rows, 2)
	}
	return waiting, setAside, err
}
