package lease

import (
	"context"

	"github.com/alds-dev/alds/internal/store/db"
)

// MaxCounted is the maximum number of rows that a Backlog counts.
const MaxCounted = 10_000

// Backlog is the number of rows that wait in a table, and since when the oldest of them waits.
type Backlog struct {
	Count  int   // at most MaxCounted
	More   bool  // true if more rows wait than Count
	Oldest int64 // when the oldest counted row began to wait, UTC microseconds; 0: no row waits
}

// CountBacklog counts the rows that a SELECT returns, but reads at most one more than MaxCounted.
// The parameter rows is the text of the SELECT. The SELECT must return a column with the name at,
// which is the time at which the row began to wait, and must use the order of an index.
func CountBacklog(ctx context.Context, q db.Querier, rows string, args ...any) (b Backlog, err error) {
	err = q.QueryRow(ctx, `SELECT COUNT(*), COALESCE(MIN(at), 0) FROM (`+rows+` LIMIT ?) w`, append(args, MaxCounted+1)...).Scan(&b.Count, &b.Oldest)
	if b.Count > MaxCounted {
		b.Count, b.More = MaxCounted, true
	}
	return b, err
}
