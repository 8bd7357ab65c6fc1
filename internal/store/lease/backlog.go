package lease

import (
	"context"

	"github.com/alds-dev/alds/internal/store/db"
)

// MaxCounted is how many rows a Backlog counts.
const MaxCounted = 10_000

// Backlog is how much waits in a table.
type Backlog struct {
	Count  int   // at most MaxCounted
	More   bool  // there are more
	Oldest int64 // when the oldest of those counted began to wait, UTC microseconds; 0: there is none
}

// CountBacklog counts rows, of which it reads few more than MaxCounted. rows is a
// SELECT of the column at, the instant of each row, in the order of a key.
func CountBacklog(ctx context.Context, q db.Querier, rows string, args ...any) (b Backlog, err error) {
	err = q.QueryRow(ctx, `SELECT COUNT(*), COALESCE(MIN(at), 0) FROM (`+rows+` LIMIT ?) w`, append(args, MaxCounted+1)...).Scan(&b.Count, &b.Oldest)
	if b.Count > MaxCounted {
		b.Count, b.More = MaxCounted, true
	}
	return b, err
}
