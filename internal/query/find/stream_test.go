package find

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// size returns the number of stories of a result that is far larger than the memory that it may
// use, and how often the name of a story repeats its five characters.
func size() (stories, words int) {
	if testing.Short() {
		return 30_000, 400
	}
	return 200_000, 40
}

// many returns a separate database with stories from Story:2000 on, and a Finder for it. The
// stories differ only in their ids. Each has one owner.
func many(t *testing.T, dialect string) (*Finder, *db.DB) {
	t.Helper()
	manyStories, words := size()
	ctx := context.Background()
	d, err := db.Open(ctx, testdb.URL(t, dialect), db.Options{MaxConns: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	f := newFixture(t)
	f.set("Scope:0", "Name=System")
	f.set("Member:20", "Name=Administrator")
	f.set("Story:2000", "Name="+strings.Repeat("long ", words)+"; Scope=Scope:0; Owners=Member:20")
	f.write(d)
	// Without the keys that the test does not need, the rows are written five times as fast.
	for _, key := range []string{"scope", "order", "parent", "super", "timebox", "status_order", "scope_type", "team", "number", "moment"} {
		drop := "DROP INDEX asset_" + key
		if dialect == "mysql" {
			drop += " ON asset"
		}
		if _, err := d.Exec(ctx, drop); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range []string{"asset", "asset_link"} {
		id := map[string]string{"asset": "id", "asset_link": "from_id"}[table]
		columns := strings.Join(columnsOf(t, d, table), ", ")
		others := strings.Replace(", "+columns+", ", ", "+id+", ", ", "+id+" + ?, ", 1)
		copyRows := "INSERT INTO " + table + " (" + columns + ") SELECT " + strings.Trim(others, ", ") +
			" FROM " + table + " WHERE " + id + " BETWEEN 2000 AND ?"
		for have := 1; have < manyStories; have *= 2 {
			if _, err := d.Exec(ctx, copyRows, have, 2000+min(have, manyStories-have)-1); err != nil {
				t.Fatal(err)
			}
		}
	}
	return New(d, f.m), d
}

func columnsOf(t *testing.T, d *db.DB, table string) []string {
	t.Helper()
	rows, err := d.Query(context.Background(), "SELECT * FROM "+table+" WHERE 1 = 0")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil || rows.Err() != nil {
		t.Fatal(err, rows.Err())
	}
	return names
}

func everyStory() query.Request {
	return query.Request{From: query.Text{Text: "Story"}, Select: items([]string{"Name", "Owners.Name"})}
}

// heap returns the number of bytes of memory that are in use after a garbage collection.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestLargeResultIsStreamed reads a result of about 60 MB. At any time, only the ids, one block of
// rows and one piece of the answer may be in memory.
func TestLargeResultIsStreamed(t *testing.T) {
	const mayHold = 12 << 20
	for _, dialect := range []string{"mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			f, _ := many(t, dialect)
			manyStories, words := size()
			before, most := heap(), uint64(0)
			pieces, size, rows, longest := 0, 0, 0, 0
			take := func(w []byte) ([]byte, error) {
				if pieces++; pieces%25 == 1 {
					most = max(most, heap())
				}
				size, longest = size+len(w), max(longest, len(w))
				rows += bytes.Count(w, []byte(`{"_oid":"Story:`))
				return w[:0], nil
			}
			last, err := f.Into(take).Rows(context.Background(), nil, auth.System, everyStory(), nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = take(last)
			if rows != manyStories || !bytes.HasSuffix(last, []byte(`"Owners.Name":["Administrator"]}]`)) {
				t.Errorf("%d rows, ending in %s", rows, last[max(0, len(last)-200):])
			}
			if longest > Piece+len("long ")*words+1<<10 {
				t.Errorf("a piece has %d bytes", longest)
			}
			if grown := int64(most) - int64(before); grown > mayHold {
				t.Errorf("%d bytes of memory for an answer of %d", grown, size)
			}
			if size < 4*mayHold {
				t.Errorf("an answer of %d bytes proves nothing", size)
			}
		})
	}
}

// failing is a database that fails after some statements.
type failing struct {
	db.Querier
	left int
}

var errAway = errors.New("the database went away")

func (f *failing) Query(ctx context.Context, sql string, args ...any) (*db.Rows, error) {
	if f.left--; f.left < 0 {
		return nil, errAway
	}
	return f.Querier.Query(ctx, sql, args...)
}

// TestStreamEndsEarly checks that a stream that ends early returns its error and flushes nothing
// more. Its connection must be free again.
func TestStreamEndsEarly(t *testing.T) {
	errGone := errors.New("nobody takes it")
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		const stories = 4 * db.MaxIn
		f := newFixture(t)
		f.set("Scope:0", "Name=System")
		for i := range stories {
			f.set(fmt.Sprintf("Story:%d", 2000+i), "Name="+strings.Repeat("long ", 200)+"; Scope=Scope:0")
		}
		f.write(d)
		for what, want := range map[string]error{"client": errGone, "database": errAway, "time": context.Canceled} {
			ctx, cancel := context.WithCancel(context.Background())
			pieces := 0
			flush := func(w []byte) ([]byte, error) {
				pieces++
				switch what {
				case "client":
					return nil, errGone
				case "time":
					cancel()
				}
				return w[:0], nil
			}
			err := d.Read(ctx, func(tx *db.Tx) error {
				q := db.Querier(tx)
				if what == "database" {
					q = &failing{Querier: tx, left: 3} // the ids and two blocks
				}
				_, err := New(d, f.m).Into(flush).Rows(ctx, q, auth.System, everyStory(), nil)
				return err
			})
			cancel()
			if !errors.Is(err, want) || pieces < 1 || pieces > 5 {
				t.Errorf("%s: ended with %v after %d pieces", what, err, pieces)
			}
			used := 1 // a connection returns to the pool a moment after its context has ended
			for began := time.Now(); used != 0 && time.Since(began) < time.Minute; runtime.Gosched() {
				used, _ = d.InUse()
			}
			if used != 0 {
				t.Errorf("%s: %d connections are still in use", what, used)
			}
		}
	})
}

func TestBounded(t *testing.T) {
	page := func(start, size int64) *query.Page { return &query.Page{Start: start, Size: size} }
	for _, c := range []struct {
		what string
		r    query.Request
		want bool
	}{
		{"no page", query.Request{From: query.Text{Text: "Story"}}, false},
		{"a page", query.Request{From: query.Text{Text: "Story"}, Page: page(0, db.MaxIn)}, true},
		{"a page of more than a block", query.Request{From: query.Text{Text: "Story"}, Page: page(0, db.MaxIn+1)}, false},
		{"one asset", query.Request{From: query.Text{Text: "Story:1"}}, true},
		{"the versions of one asset", query.Request{From: query.Text{Text: "Story:1"}, History: true}, false},
		{"all of one asset", query.Request{From: query.Text{Text: "Story:1"}, AsOf: query.Text{Text: "All"}}, false},
		{"a page of versions", query.Request{From: query.Text{Text: "Story:1"}, History: true, Page: page(0, 5)}, true},
	} {
		if got := Bounded(c.r); got != c.want {
			t.Errorf("%s: %v", c.what, got)
		}
	}
}
