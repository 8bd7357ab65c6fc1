package find

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// crossed writes two members who own the same stories. Each pair of levels in a nested select then
// multiplies the number of rows by the number of stories.
func crossed(t *testing.T, d *db.DB, stories int) *Finder {
	t.Helper()
	f := newFixture(t)
	f.set("Scope:0", "Name=System")
	f.set("Member:20", "Name=Administrator")
	f.set("Member:1000", "Name=Other")
	for i := range stories {
		f.set(fmt.Sprintf("Story:%d", 2000+i), fmt.Sprintf("Name=Story %d; Scope=Scope:0; Owners=Member:20,Member:1000", i))
	}
	f.write(d)
	return New(d, f.m)
}

// nest returns a query that selects the stories of a member, the owners of these stories, the
// stories of these owners, and so on. The result has one row for any number of levels.
func nest(levels int) query.Request {
	r := query.Request{Select: items([]string{"Name"})}
	for range levels {
		r.From = query.Text{Text: "OwnedWorkitems:Story"}
		sub := r
		owners := query.Request{From: query.Text{Text: "Owners"}, Select: []query.Item{{Sub: &sub}}}
		r = query.Request{Select: []query.Item{{Sub: &owners}}}
	}
	inner := r.Select[0].Sub.Select[0] // a member has no owners
	return query.Request{From: query.Text{Text: "Member:20"}, Select: []query.Item{inner}}
}

// taker collects the flushed bytes.
type taker struct {
	all     bytes.Buffer
	pieces  int
	longest int
}

func (t *taker) take(w []byte) ([]byte, error) {
	t.pieces++
	t.longest = max(t.longest, len(w))
	t.all.Write(w)
	return w[:0], nil
}

// TestALongRowIsStreamed checks that one row of some megabytes is flushed in pieces, and is the
// same as when it is returned whole. After that, the shape of the query is known to be slow.
func TestALongRowIsStreamed(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := crossed(t, d, 40)
		ctx := context.Background()
		whole, err := f.Rows(ctx, nil, auth.System, nest(3), nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(whole) < 10*Piece {
			t.Fatalf("a row of %d bytes proves nothing", len(whole))
		}
		for i, restarts := range []int64{1, 0} {
			before := d.Counts().Restarts
			var got taker
			last, err := f.Into(got.take).Rows(ctx, nil, auth.System, nest(3), nil)
			if err != nil {
				t.Fatal(err)
			}
			got.all.Write(last)
			if !bytes.Equal(got.all.Bytes(), whole) {
				t.Errorf("what is streamed has %d bytes and is not the %d that are returned whole", got.all.Len(), len(whole))
			}
			if got.longest > Piece+maxCopied {
				t.Errorf("a piece has %d bytes", got.longest)
			}
			if n := d.Counts().Restarts - before; n > restarts { // the shape may already be known as slow in run 0
				t.Errorf("run %d started over %d times", i, n)
			}
		}
	})
}

// maxCopied is the maximum number of bytes of a copied list. A piece may be longer than Piece by
// this number.
const maxCopied = 64<<10 + 1<<10

// TestAnswersHaveABound checks the limit of an answer. An answer that is certainly too large is
// refused before its first byte. Any other answer is refused when it becomes too large.
func TestAnswersHaveABound(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := crossed(t, d, 40)
		ctx := context.Background()
		f.MaxAnswer = 3 << 20
		for _, levels := range []int{3, 4, 5, 6} { // 6 levels would have about 10^16 bytes
			if len(nest(levels).Select) == 0 || 2*levels > query.MaxNested {
				continue
			}
			var got taker
			_, err := f.Into(got.take).Rows(ctx, nil, auth.System, nest(levels), nil)
			if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "3145728") || got.pieces > 0 {
				t.Errorf("%d levels: %v after %d pieces", levels, err, got.pieces)
			}
			if _, err = f.Rows(ctx, nil, auth.System, nest(levels), nil); fault.KindOf(err) != fault.Invalid {
				t.Errorf("%d levels, returned whole: %v", levels, err)
			}
		}
		f.MaxAnswer = 0
		large, err := f.Rows(ctx, nil, auth.System, nest(3), nil)
		if err != nil {
			t.Fatal(err)
		}
		f.MaxAnswer = int64(len(large)) - 10
		var got taker
		_, err = f.Into(got.take).Rows(ctx, nil, auth.System, nest(3), nil)
		if fault.KindOf(err) != fault.Invalid || got.pieces == 0 {
			t.Errorf("some bytes too many: %v after %d pieces", err, got.pieces)
		}
		f.MaxAnswer += 10
		if _, err = f.Into(got.take).Rows(ctx, nil, auth.System, nest(3), nil); err != nil {
			t.Errorf("just as many: %v", err)
		}
		two := f.Into(nil) // a Finder for two queries, each with half of the answer
		first, err := two.Rows(ctx, nil, auth.System, nest(3), nil)
		if err == nil {
			_, err = two.Rows(ctx, nil, auth.System, nest(1), first)
		}
		if fault.KindOf(err) != fault.Invalid {
			t.Errorf("two queries of one answer: %v", err)
		}
	})
}

// TestMemoryIsTaken checks that an answer that is returned whole uses the memory of its request. If
// there is too little memory, the query ends and releases all of it. Streamed and small answers
// need little memory or none.
func TestMemoryIsTaken(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := crossed(t, d, 40)
		whole := func(b *memory.Budget, r query.Request) (int64, error) {
			h := b.Hold("m")
			defer h.Release()
			_, err := f.Rows(memory.With(context.Background(), h), nil, auth.System, r, nil)
			used, _ := b.Used()
			return used, err
		}
		if used, err := whole(memory.NewBudget(1<<30), nest(3)); err != nil || used < 10*Piece {
			t.Errorf("a large answer took %d bytes: %v", used, err)
		}
		if used, err := whole(memory.NewBudget(1<<30), nest(1)); err != nil || used > 1<<20 {
			t.Errorf("a small answer took %d bytes: %v", used, err)
		}
		if used, err := whole(memory.NewBudget(4<<20), nest(3)); err == nil || used != 0 {
			t.Errorf("%d bytes are taken after %v", used, err)
		}
		grouped := query.Request{From: query.Text{Text: "Story"}, Select: []query.Item{{Sub: nest(3).Select[0].Sub.Select[0].Sub}}, Group: []query.Request{{From: query.Text{Text: "Owners"}}}}
		if used, err := whole(memory.NewBudget(4<<20), grouped); err == nil || used != 0 {
			t.Errorf("groups: %d bytes are taken after %v", used, err)
		}
		h := memory.NewBudget(6 << 20).Hold("m")
		defer h.Release()
		var got taker
		if _, err := f.Into(got.take).Rows(memory.With(context.Background(), h), nil, auth.System, nest(3), nil); err != nil {
			t.Errorf("streamed: %v", err)
		}
	})
}

// TestBranchesAreReadInPieces checks that the rows below many rows are not in memory together, and that the answer is
// the same as if they were.
func TestBranchesAreReadInPieces(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := crossed(t, d, 200)
		answer := func(r query.Request) ([]byte, int64) {
			b := memory.NewBudget(1 << 30)
			h := b.Hold("m")
			defer h.Release()
			w, err := f.Rows(memory.With(t.Context(), h), nil, auth.System, r, nil)
			if err != nil {
				t.Fatal(err)
			}
			return w, b.Peak()
		}
		all := query.Request{From: query.Text{Text: "Story"}, Select: items([]string{"Number", "Scope.Workitems.Name"}), Sort: []query.Text{{Text: "-Name"}}}
		page := all
		page.Page = &query.Page{Start: 3, Size: 180}
		for name, r := range map[string]query.Request{"all rows": all, "a page": page} {
			f.maxBelow = maxBelow
			want, together := answer(r)
			f.maxBelow = 1 << 20
			got, inPieces := answer(r)
			if !bytes.Equal(got, want) || len(want) < 180*180*len("Story 1") {
				t.Errorf("%s: the answers have %d and %d bytes", name, len(got), len(want))
			}
			if together < 8<<20 || inPieces > 5<<20 {
				t.Errorf("%s: %d bytes were taken together, %d in pieces", name, together, inPieces)
			}
		}
	})
}

// TestGroupsHaveABound checks that groups within groups are refused when there are too many. A query of a
// hundred bytes could otherwise make any number of them from one row.
func TestGroupsHaveABound(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := crossed(t, d, 40)
		r := query.Request{From: query.Text{Text: "Story:2000"}, Select: items([]string{"Name"})}
		r.Group = slices.Repeat([]query.Request{{From: query.Text{Text: "Owners.OwnedWorkitems"}}}, 4) // 40^4 groups
		if b, err := f.Rows(t.Context(), nil, auth.System, r, nil); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "300000") {
			t.Errorf("%d bytes, %v", len(b), err)
		}
		r.Group = r.Group[:2]
		if b, err := f.Rows(t.Context(), nil, auth.System, r, nil); err != nil || len(b) < 40*40*20 {
			t.Errorf("%d bytes, %v", len(b), err)
		}
	})
}

// TestSnapshotsTakeMemory checks that the memory of snapshots is released when the snapshots have
// been read.
func TestSnapshotsTakeMemory(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := crossed(t, d, 40)
		var at []oid.OID
		err := db.Each(t.Context(), d, "SELECT id, moment FROM asset_version WHERE id >= 2000", nil, func(row db.Scanner) error {
			o := oid.OID{Type: "Story"}
			err := row.Scan(&o.ID, &o.Moment)
			at = append(at, o)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		at = slices.Repeat(at, 2000)
		b := memory.NewBudget(4 << 20)
		h := b.Hold("m")
		defer h.Release()
		within := memory.With(t.Context(), h)
		if _, err := f.Snapshot(within, nil, auth.System, "Story", []string{"Name"}, at[:40]); err != nil {
			t.Errorf("some: %v", err)
		}
		if _, err := f.Snapshot(within, nil, auth.System, "Story", []string{"Name"}, at); !errors.Is(err, memory.ErrTooMuch) {
			t.Errorf("many: %d, %v", len(at), err)
		}
		if used, _ := b.Used(); used != 0 {
			t.Errorf("%d bytes are taken", used)
		}
	})
}

// TestStreamEndsWithinARow checks that a row ends at once when the flush returns an error.
func TestStreamEndsWithinARow(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := crossed(t, d, 40)
		gone := errors.New("nobody takes it")
		pieces := 0
		_, err := f.Into(func([]byte) ([]byte, error) { pieces++; return nil, gone }).Rows(context.Background(), nil, auth.System, nest(3), nil)
		if !errors.Is(err, gone) || pieces != 1 {
			t.Errorf("ended with %v after %d pieces", err, pieces)
		}
	})
}

// ending is a context whose time is up after a number of checks.
type ending struct {
	context.Context

	left, late atomic.Int64
}

// Err counts its calls. After the first c.left calls it returns context.DeadlineExceeded.
func (c *ending) Err() error {
	if c.left.Add(-1) >= 0 {
		return c.Context.Err()
	}
	c.late.Add(1)
	return context.DeadlineExceeded
}

// TestTimeEndsTheMakingOfAnAnswer checks that the end of a request also ends work in memory, which
// reads and flushes nothing.
func TestTimeEndsTheMakingOfAnAnswer(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := crossed(t, d, 40)
		for name, r := range map[string]query.Request{
			"rows":   nest(4),
			"groups": {From: query.Text{Text: "Story"}, Select: []query.Item{{Sub: nest(4).Select[0].Sub.Select[0].Sub}}, Group: []query.Request{{From: query.Text{Text: "Owners"}}}},
		} {
			ctx := &ending{Context: t.Context()}
			ctx.left.Store(100)
			_, err := f.Rows(ctx, nil, auth.System, r, nil)
			if late := ctx.late.Load(); fault.KindOf(err) != fault.Transient || late == 0 || late > 10 {
				t.Errorf("%s: ended with %v, after %d looks at the time", name, err, late)
			}
		}
	})
}
