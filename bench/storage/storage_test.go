package storage

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestMain(m *testing.M) { testdb.Main(m) }

var current = strings.Fields(`id type state moment audit_id created_moment created_at created_by changed_at changed_by
	name number description scope_id order_key status_id estimate`)

var version = append(append([]string{}, current...), "until_moment", "linked")

const (
	story    = 4
	perBatch = 10_000
	scopes   = 200
)

var description = strings.Repeat("as a member I want to know what changed ", 10)

// row returns the columns of one story. The moment is also used as its time.
func row(id, moment int64) []any {
	return []any{
		id, story, 64, moment, 1, moment, moment, 20, moment, 20,
		fmt.Sprintf("Story number %d", id), fmt.Sprintf("S-%05d", id), description,
		2000 + id%scopes, id << 5, 133, 3.0,
	}
}

func insert(b *testing.B, d *db.DB, n int, first, moment, until int64, all, superseded bool) {
	b.Helper()
	err := d.Write(context.Background(), func(tx *db.Tx) error {
		ctx := context.Background()
		if !superseded {
			err := db.InsertN(ctx, tx, "asset", current, n, func(i int) []any { return row(first+int64(i), moment+int64(i)) })
			if err != nil || !all {
				return err
			}
		}
		return db.InsertN(ctx, tx, "asset_version", version, n, func(i int) []any {
			end := until
			if until != db.Forever {
				end += int64(i)
			}
			return append(row(first+int64(i), moment+int64(i)), end, 0)
		})
	})
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkCreate writes 10,000 stories in one transaction.
func BenchmarkCreate(b *testing.B) {
	for _, all := range []bool{true, false} {
		b.Run(map[bool]string{true: "every version", false: "superseded only"}[all], func(b *testing.B) {
			d := testdb.MySQL(b)
			next := int64(10_000)
			for b.Loop() {
				insert(b, d, perBatch, next, next, db.Forever, all, false)
				next += perBatch
			}
			b.ReportMetric(float64(b.N)*perBatch/b.Elapsed().Seconds(), "stories/s")
		})
	}
}

// BenchmarkPage reads a sorted page of 50 stories in one scope, out of 100,000 stories with
// five versions each. It reads the current versions, and the versions as of a moment between
// them.
func BenchmarkPage(b *testing.B) {
	const assets, versions = 100_000, 5
	load := func(b *testing.B, all bool) *db.DB {
		d := testdb.MySQL(b)
		for v := range int64(versions) {
			for first := int64(0); first < assets; first += perBatch {
				moment := 1_000_000*(v+1) + first
				until := moment + 1_000_000
				if last := v == versions-1; last {
					insert(b, d, perBatch, 10_000+first, moment, db.Forever, all, false)
					continue
				}
				insert(b, d, perBatch, 10_000+first, moment, until, all, true)
			}
		}
		for _, t := range []string{"asset", "asset_version"} {
			if _, err := d.Exec(context.Background(), "ANALYZE TABLE "+t); err != nil {
				b.Fatal(err)
			}
		}
		return d
	}
	const cols = "id, moment, name, number, status_id, estimate"
	const at = " scope_id = ? AND moment <= ? AND until_moment > ? AND type = 4 AND state < 255"
	one := "SELECT " + cols + " FROM asset_version WHERE" + at + " ORDER BY order_key, id LIMIT 50"
	union := "SELECT * FROM ((SELECT " + cols + ", order_key FROM asset_version WHERE" + at + " ORDER BY order_key, id LIMIT 50)" +
		" UNION ALL (SELECT " + cols + ", order_key FROM asset WHERE scope_id = ? AND moment <= ? AND type = 4 AND state < 255 ORDER BY order_key, id LIMIT 50)) u" +
		" ORDER BY order_key, id LIMIT 50"
	now := "SELECT " + cols + " FROM asset WHERE scope_id = ? AND type = 4 AND state < 255 ORDER BY order_key, id LIMIT 50"
	page := func(b *testing.B, d *db.DB, query string, args func(scope, moment int64) []any) {
		for b.Loop() {
			moment := 1_000_000*(1+rand.Int64N(versions)) + rand.Int64N(assets)
			rows, err := d.Query(context.Background(), query, args(2000+rand.Int64N(scopes), moment)...)
			if err != nil {
				b.Fatal(err)
			}
			for rows.Next() {
			}
			if err := rows.Close(); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("every version", func(b *testing.B) {
		d := load(b, true)
		b.Run("now", func(b *testing.B) { page(b, d, now, func(s, _ int64) []any { return []any{s} }) })
		b.Run("as of", func(b *testing.B) { page(b, d, one, func(s, m int64) []any { return []any{s, m, m} }) })
	})
	b.Run("superseded only", func(b *testing.B) {
		d := load(b, false)
		b.Run("as of", func(b *testing.B) { page(b, d, union, func(s, m int64) []any { return []any{s, m, m, s, m} }) })
	})
}
