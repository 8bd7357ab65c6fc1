package requests

import (
	"context"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/lease"
)

// Backlog returns how many accepted requests have no answer yet, and when the oldest of them was
// accepted.
func Backlog(ctx context.Context, q db.Querier) (lease.Backlog, error) {
	return lease.CountBacklog(ctx, q, `SELECT created_at AS at FROM bulk_request WHERE status = ? ORDER BY status, lease`, waiting)
}
