package sqlgen_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query/sqlgen"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestManyWays checks that every server accepts statements with conditions and aggregates over long
// paths and over many paths.
func TestManyWays(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := sqlgen.Writer{Dialect: d.Dialect, Visibility: visibilities["admin"]}
		for _, n := range []int{1, 2, 4, 7} {
			way := strings.TrimSuffix(strings.Repeat("Owners.OwnedWorkitems.", n), ".")
			trees := strings.TrimSuffix(strings.Repeat("ParentAndUp.SubsAndDown:Story.", n), ".")
			var several []string
			for i := range 8 * n {
				several = append(several, fmt.Sprintf("Owners.OwnedWorkitems[Estimate='%d'].Name='x'", i))
			}
			for _, body := range []string{
				fmt.Sprintf(`{"from": "Story", "filter": ["%s.Name='x'"]}`, way),
				fmt.Sprintf(`{"from": "Story", "filter": ["%s.Name!='x'"]}`, way),
				fmt.Sprintf(`{"from": "Story", "select": ["%s.@Count"], "sort": ["-%s.Estimate.@Sum"]}`, way, way),
				fmt.Sprintf(`{"from": "Story", "filter": ["%s.Name='x'"]}`, trees),
				fmt.Sprintf(`{"from": "Story", "select": ["%s.@Count"], "sort": ["-%s.Estimate.@Sum"]}`, trees, trees),
				fmt.Sprintf(`{"from": "Story", "filter": ["%s"]}`, strings.Join(several, "|")),
			} {
				g := &golden{as: "admin", body: []byte(body)}
				if g.compile(meta.Default()); g.err != nil {
					t.Fatal(g.err)
				}
				for _, s := range []sqlgen.Statement{w.Page(g.plan, false), w.IDs(g.plan), w.Total(g.plan), w.Block(&g.plan.Select, []int64{1, 2}, nil)} {
					if nested := strings.Count(s.SQL, "WITH "); nested > 12 {
						t.Errorf("%d: %s: %d WITH clauses; MariaDB needs twice the time for each that is nested", n, body[:min(len(body), 90)], nested)
					}
					if err := db.Each(context.Background(), d, s.SQL, s.Args, func(db.Scanner) error { return nil }); err != nil {
						t.Errorf("%d: %s: %v", n, body[:min(len(body), 90)], err)
					}
				}
			}
		}
	})
}
