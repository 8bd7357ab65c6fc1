package db_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
)

const (
	ofScope = "SELECT COUNT(*) FROM story WHERE kind = 4 AND scope = ?"
	ofSuper = "SELECT COUNT(*) FROM story WHERE kind = 4 AND super = ?"
	ofFew   = "SELECT COUNT(*) FROM story WHERE kind = 1 AND scope = ?"
)

// stories returns a database with an index for each column, for 5,000 rows of one kind and 5
// of another. They are in 50 scopes, and one in a thousand has a super.
func stories(t *testing.T) *db.DB {
	t.Helper()
	d := openFile(t, filepath.Join(t.TempDir(), "alds.db"))
	exec(t, d, "CREATE TABLE story (id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, scope INTEGER NOT NULL, super INTEGER)")
	exec(t, d, "CREATE INDEX story_scope ON story (scope)")
	exec(t, d, "CREATE INDEX story_super ON story (super)")
	exec(t, d, "CREATE INDEX story_kind ON story (kind, id, scope)")
	return d
}

func fillStories(t *testing.T, d *db.DB) {
	t.Helper()
	err := d.Write(t.Context(), func(tx *db.Tx) error {
		_, err := tx.Exec(t.Context(), `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5005)
			INSERT INTO story SELECT i, CASE WHEN i > 5000 THEN 1 ELSE 4 END, i % 50, CASE WHEN i % 1000 = 0 THEN i END FROM n`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

var plans atomic.Int64

// plan returns how a statement with one argument runs. It runs the statement once, since only
// then the connection sees a changed schema. EXPLAIN gets a new text each time, since a
// connection caches its answer.
func plan(t *testing.T, q db.Querier, statement string) string {
	t.Helper()
	if err := q.QueryRow(t.Context(), statement, 1).Scan(new(int)); err != nil {
		t.Fatal(err)
	}
	var number, parent, unused int
	var text string
	if err := q.QueryRow(t.Context(), fmt.Sprintf("EXPLAIN QUERY PLAN %s /* %d */", statement, plans.Add(1)), 1).Scan(&number, &parent, &unused, &text); err != nil {
		t.Fatal(err)
	}
	return text
}

func TestConnectionsInUsePlanByNewStatistics(t *testing.T) {
	d := stories(t)
	fillStories(t, d)
	every := func(do func(pool string, q db.Querier)) {
		do("single statements", d)
		do("lookups", d.Lookup())
		if err := d.Read(t.Context(), func(tx *db.Tx) error { do("quick reads", tx); return nil }); err != nil {
			t.Fatal(err)
		}
		if err := d.ReadLong(t.Context(), func(tx *db.Tx) error { do("long reads", tx); return nil }); err != nil {
			t.Fatal(err)
		}
		if err := d.Write(t.Context(), func(tx *db.Tx) error { do("writes", tx); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	every(func(pool string, q db.Querier) {
		if got := plan(t, q, ofScope); !strings.Contains(got, "story_kind") {
			t.Errorf("%s, before there are statistics: %s", pool, got)
		}
	})
	if err := d.GatherStatistics(t.Context()); err != nil {
		t.Fatal(err)
	}
	every(func(pool string, q db.Querier) {
		for statement, want := range map[string]string{ofScope: "story_scope", ofSuper: "story_super", ofFew: "story_kind"} {
			if got := plan(t, q, statement); !strings.Contains(got, want) {
				t.Errorf("%s: %s: %s, want %s", pool, statement, got, want)
			}
		}
	})
}

func TestStatisticsFollowLargeWrites(t *testing.T) {
	d := stories(t)
	if err := d.GatherStatistics(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- d.KeepStatistics(ctx) }()
	fillStories(t, d)
	for !strings.Contains(plan(t, d, ofScope), "story_scope") {
		if ctx.Err() != nil {
			t.Fatal("nothing was gathered after a large write")
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestASmallTableHasNoStatistics(t *testing.T) {
	d := stories(t)
	exec(t, d, "INSERT INTO story VALUES (1, 4, 1, NULL), (2, 4, 1, NULL), (3, 4, 1, NULL)")
	if err := d.GatherStatistics(t.Context()); err != nil {
		t.Fatal(err)
	}

	if got := plan(t, d, "SELECT COUNT(*) FROM story WHERE scope = ?"); !strings.Contains(got, "story_scope") {
		t.Errorf("the index is not used: %s", got)
	}
}

// TestATableThatIsItsKey checks that a table without row ids has statistics under the table's
// name.
func TestATableThatIsItsKey(t *testing.T) {
	d := stories(t)
	exec(t, d, "CREATE TABLE owner (story INTEGER NOT NULL, member INTEGER NOT NULL, PRIMARY KEY (story, member)) WITHOUT ROWID")
	exec(t, d, "CREATE INDEX owner_member ON owner (member, story)")
	fillStories(t, d)
	exec(t, d, "INSERT INTO owner SELECT id, id % 7 FROM story")
	if err := d.GatherStatistics(t.Context()); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := d.QueryRow(t.Context(), "SELECT COUNT(*) FROM sqlite_stat1 WHERE tbl = 'owner' AND idx IN ('owner', 'owner_member')").Scan(&n); err != nil || n != 2 {
		t.Errorf("%d indexes of the table have statistics: %v", n, err)
	}
}

// TestAKeyOfSomeRows checks that a partial index without rows has no statistics, and that all
// other indexes keep their statistics.
func TestAKeyOfSomeRows(t *testing.T) {
	d := stories(t)
	exec(t, d, "CREATE INDEX story_a_none ON story (super) WHERE super < 0")
	exec(t, d, "DROP INDEX story_super")
	exec(t, d, "CREATE INDEX story_super ON story (super) WHERE super IS NOT NULL")
	fillStories(t, d)
	if err := d.GatherStatistics(t.Context()); err != nil {
		t.Fatal(err)
	}
	for statement, want := range map[string]string{ofScope: "story_scope", ofSuper: "story_super", ofFew: "story_kind"} {
		if got := plan(t, d, statement); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", statement, got, want)
		}
	}
}
