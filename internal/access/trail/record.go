package trail

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/alds-dev/alds/internal/store/db"
)

// maxAddress is the maximum number of characters of a stored address, the size of the column.
const maxAddress = 64

// Record writes events in the transaction of the change to which they belong. Their time is the
// time of the database's clock.
// Errors: those of the database.
func Record(ctx context.Context, tx *db.Tx, events ...Event) error {
	if len(events) == 0 {
		return nil
	}
	rows := make([]row, len(events))
	for i, e := range events {
		rows[i] = newRow(e.from(ctx))
	}
	now, err := clock(ctx, tx)
	first := rand.Int64N(math.MaxInt64 - int64(len(rows))) //nolint:gosec // no secret
	for i := range rows {
		rows[i].at, rows[i].id = now, first+int64(i) // the same time; ascending ids keep the order of the events
	}
	if err == nil {
		err = insert(ctx, tx, rows)
	}
	if err != nil {
		return fmt.Errorf("write the audit trail: %w", err)
	}
	return nil
}

func clock(ctx context.Context, tx *db.Tx) (micros int64, err error) {
	err = tx.QueryRow(ctx, `SELECT `+tx.Dialect().NowMicros).Scan(&micros)
	return micros, err
}

// row is a row of audit_trail. Times are UTC microseconds of the database's clock.
type row struct {
	Event
	at    int64 // time of the last of the counted events
	id    int64 // a random number that distinguishes rows of the same time
	first int64 // time of the first of the counted events; 0: the same as at
	dated bool  // true: the times come from the database's clock; false: from the clock of the process
}

func newRow(e Event) row { return row{Event: e.clipped(), id: rand.Int64()} } //nolint:gosec // no secret

var columns = []string{"at", "id", "kind", "actor_id", "address", "member_id", "scope_id", "events", "first_at", "detail"}

func insert(ctx context.Context, tx *db.Tx, rows []row) error {
	return db.InsertN(ctx, tx, "audit_trail", columns, len(rows), func(i int) []any {
		r := &rows[i]
		return []any{
			r.at, r.id, string(r.Kind), known(r.Actor), known(r.Address), known(r.Member), r.project(),
			int64(r.count()), known(r.first), r.detail(),
		}
	})
}

// known returns v, or nil if v is the zero value.
func known[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

func (r *row) project() any {
	if r.Project == nil {
		return nil
	}
	return *r.Project
}

// detail returns the stored form of the detail, nil for none.
func (r *row) detail() any {
	d := r.Detail
	if !r.Asset.IsNull() {
		d.Asset = r.Asset.String()
	}
	text, _ := json.Marshal(d) // cannot fail
	return known(emptyIs(string(text)))
}

func emptyIs(text string) string {
	if text == "{}" {
		return ""
	}
	return text
}
