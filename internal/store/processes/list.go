package processes

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
)

// A process counts as alive for the duration aliveFor after the last update of its row. The row is
// deleted when the duration forgetAfter has passed.
const (
	aliveFor    = time.Minute
	forgetAfter = time.Hour
)

// Limits of a list. The table may have many rows, because processes that were killed leave their
// rows for an hour.
const (
	maxListed = 500
	maxTold   = 100 // maximum number of processes whose slowest queries are read
)

// Row describes a process, as it has last recorded itself.
type Row struct {
	ID, Role, Version, Host string
	Started, Seen           int64 // UTC microseconds by the database's clock
	Alive                   bool
}

// Slow is a slow query of a process.
type Slow struct {
	SlowQuery
	Process string
	At      int64 // end of the slowest run; UTC microseconds by the database's clock
}

// List returns the processes of the last hour, at most 500, sorted by role and start.
func List(ctx context.Context, q db.Querier, d *db.Dialect) ([]Row, error) {
	now := d.NowMicros
	return db.Collect(ctx, q, `SELECT id, role, version, host, started, seen, CASE WHEN seen >= `+now+` - ? THEN 1 ELSE 0 END FROM (`+
		`SELECT id, role, version, host, started, seen FROM process WHERE seen >= `+now+` - ? ORDER BY seen DESC LIMIT ?) p ORDER BY role, started, id`,
		[]any{aliveFor.Microseconds(), forgetAfter.Microseconds(), maxListed}, func(row db.Scanner) (r Row, err error) {
			return r, row.Scan(&r.ID, &r.Role, &r.Version, &r.Host, &r.Started, &r.Seen, &r.Alive)
		})
}

// SlowQueries returns the slowest queries of all processes in the last hour, the slowest
// first.
func SlowQueries(ctx context.Context, q db.Querier, d *db.Dialect) ([]Slow, error) {
	var all []Slow
	now := d.NowMicros
	err := db.Each(ctx, q, `SELECT id, seen, slow_queries, `+now+` FROM process WHERE seen >= `+now+` - ? ORDER BY seen DESC LIMIT ?`,
		[]any{forgetAfter.Microseconds(), maxTold}, func(row db.Scanner) error {
			var id, text string
			var seen, present int64
			if err := row.Scan(&id, &seen, &text, &present); err != nil {
				return err
			}
			var told []SlowQuery
			if json.Unmarshal([]byte(text), &told) != nil {
				return nil // another release has written it in another form
			}
			for _, t := range told {
				if at := seen - t.Ago.Microseconds(); at >= present-forgetAfter.Microseconds() {
					all = append(all, Slow{SlowQuery: t, Process: id, At: at})
				}
			}
			return nil
		})
	slices.SortStableFunc(all, func(a, b Slow) int { return int(min(1, max(-1, b.Slowest-a.Slowest))) })
	return all[:min(len(all), maxSlow)], err
}
