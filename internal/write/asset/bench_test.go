package asset_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/asset"
)

// BenchmarkCreate creates 10,000 stories in one request. For comparison, it also inserts such rows
// with plain SQL. bench/write measures requests from the client to the database.
func BenchmarkCreate(b *testing.B) {
	for name, open := range map[string]func(testing.TB) *db.DB{"mysql": testdb.MySQL, "sqlite": testdb.SQLite} {
		b.Run(name, func(b *testing.B) {
			d := open(b)
			w := newHarness(b, d)
			const n = 10_000
			b.Run("engine", func(b *testing.B) {
				for b.Loop() {
					w.must(many(n)...)
				}
			})
			oids := w.must(many(1000)...)
			b.Run("update", func(b *testing.B) {
				for n := 0; b.Loop(); n++ {
					commands := make([]*asset.Command, len(oids))
					for i := range commands {
						commands[i] = update(oids[i], "Reference", fmt.Sprint(n), "Estimate", fmt.Sprint(n))
					}
					w.must(commands...)
				}
			})
			b.Run("floor", func(b *testing.B) { floor(b, d, n) })
		})
	}
}

func many(n int) []*asset.Command {
	commands := make([]*asset.Command, n)
	for i := range commands {
		commands[i] = create("Story", fmt.Sprint("@", i), "Name", fmt.Sprint("Story ", i), "Scope", "Scope:0", "Description", "As a user I want it", "Estimate", "3")
	}
	return commands
}

// floor inserts similar rows into asset and asset_version without the engine. Its time is a lower
// bound for the engine.
func floor(b *testing.B, d *db.DB, n int) {
	columns := strings.Fields(`id type state moment audit_id created_moment created_at created_by changed_at changed_by
 name number description scope_id order_key estimate`)
	versioned := append(append([]string(nil), columns...), "until_moment", "linked")
	next := int64(100_000_000)
	for b.Loop() {
		err := d.Write(b.Context(), func(tx *db.Tx) error {
			row := make([]any, len(versioned))
			fill := func(i int) []any {
				id := next + int64(i)
				row[0], row[1], row[2], row[3], row[4], row[5] = id, 4, 64, id, 1, id
				row[6], row[7], row[8], row[9] = int64(1), 20, int64(1), 20
				row[10], row[11], row[12], row[13] = "Story 1234", "S-01234", "As a user I want it", 0
				row[14], row[15] = id<<20, 3.0
				return row[:len(columns)]
			}
			if err := db.InsertN(b.Context(), tx, "asset", columns, n, fill); err != nil {
				return err
			}
			return db.InsertN(b.Context(), tx, "asset_version", versioned, n, func(i int) []any {
				fill(i)
				row[len(columns)], row[len(columns)+1] = db.Forever, 0
				return row
			})
		})
		if err != nil {
			b.Fatal(err)
		}
		next += int64(n)
	}
}
