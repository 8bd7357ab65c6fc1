package db_test

import (
	"context"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestATransactionOfAnEndedContext checks transactions that are rolled back because their
// context ends between two statements. The next statement, even COMMIT, must report the end
// of the request, not a failure of the service.
func TestATransactionOfAnEndedContext(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		for name, begin := range map[string]func(context.Context, func(*db.Tx) error) error{"read": d.Read, "write": d.Write} {
			var inside error
			ctx, end := context.WithCancel(t.Context())
			err := begin(ctx, func(tx *db.Tx) error {
				end()
				inside = untilRolledBack(t, tx)
				return nil
			})
			if fault.KindOf(inside) != fault.Transient {
				t.Errorf("%s, a statement: %v", name, inside)
			}
			if fault.KindOf(err) != fault.Transient {
				t.Errorf("%s, as a whole: %v", name, err)
			}
		}
	})
}

// untilRolledBack runs queries until the transaction fails. The context of the queries has not
// ended.
func untilRolledBack(t *testing.T, tx *db.Tx) error {
	mine, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		var n int
		if err := tx.QueryRow(mine, "SELECT COUNT(*) FROM sequence").Scan(&n); err != nil {
			return err
		}
	}
}
