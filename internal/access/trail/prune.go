package trail

import (
	"context"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
)

// pruneRows is the approximate number of rows that one statement deletes.
const pruneRows = 500

// Prune deletes the events that are older than keep. Concurrent calls do no harm.
func Prune(ctx context.Context, d *db.DB, keep time.Duration) error {
	for {
		var until int64
		err := d.QueryRow(ctx, `SELECT at FROM audit_trail WHERE at < `+d.Dialect.NowMicros+` - ? ORDER BY at LIMIT 1 OFFSET ?`,
			keep.Microseconds(), pruneRows-1).Scan(&until)
		if fault.KindOf(err) == fault.NotFound { // fewer than pruneRows rows are left
			_, err = d.Exec(ctx, `DELETE FROM audit_trail WHERE at < `+d.Dialect.NowMicros+` - ?`, keep.Microseconds())
			return err
		}
		if err != nil {
			return err
		}
		if _, err := d.Exec(ctx, `DELETE FROM audit_trail WHERE at <= ?`, until); err != nil {
			return err
		}
	}
}
