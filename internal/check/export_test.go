package check

import (
	"context"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/meta"
)

// RunIn is Run inside a transaction that the test rolls back.
func RunIn(ctx context.Context, tx *db.Tx, m *meta.Model) ([]Finding, error) {
	return runIn(ctx, tx, m, func(Step) {})
}
