package lease

import (
	"context"

	"github.com/alds-dev/alds/internal/store/db"
)

// MaxCounted is the maximum number of rows that a Backlog counts.
const MaxCounted = 10_000

// Backlog is the number of waiting rows in a table, and the age of the oldest.
type Backlog struct {
	Count  int   // at most MaxCounted
	More   bool  // more rows wait than Count
	Oldest int64 // when the oldest counted row began to wait, UTC microseconds; 0: no row waits
}

// CountBacklog counts rows. It reads at most one row more than MaxCounted. rows is a SELECT of the
// column at, the instant at which each row began to wait, in the order of a key.
func CountBacklog(ctx context.Context, q db.Querier, rows string, args ...any) (b Backlog, err error) {
	err = q.QueryRow(ctx, `SELECT COUNT(*), COALESCE(MIN(at), 0) FROM (`+rows+` LIMIT ?) w`, append(args, MaxCounted+1)...).Scan(&b.Count, &b.Oldest)
	if b.Count > MaxCounted {
		b.Count, b.More = MaxCounted, true
	}
	return b, err
}
