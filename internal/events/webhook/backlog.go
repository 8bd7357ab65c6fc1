package webhook

import (
	"context"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/lease"
)

// Backlog returns which changes wait for their fan-out, and which were set aside since
// their fan-out was begun too often.
func Backlog(ctx context.Context, q db.Querier) (waiting, setAside lease.Backlog, err error) {
	const rows = `SELECT at FROM audit WHERE fan_state = ? ORDER BY fan_state, fan_lease, id`
	if waiting, err = lease.CountBacklog(ctx, q, rows, 0); err == nil {
		setAside, err = lease.CountBacklog(ctx, q, rows, 2)
	}
	return waiting, setAside, err
}
