package feed

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/bulk"
	"github.com/alds-dev/alds/internal/write/rest"
	"github.com/alds-dev/alds/internal/write/seed"
)

// writeLarge writes one story for each element of sizes, and returns the moments of their versions.
// A size is the size of the description in bytes.
func writeLarge(t *testing.T, d *db.DB, sizes []int) (moments []int64) {
	t.Helper()
	model := meta.Default()
	if err := seed.Run(t.Context(), d, model); err != nil {
		t.Fatal(err)
	}
	writer := rest.New(asset.New(d, model, nil, nil), find.New(d, model))
	for i, n := range sizes {
		_, err := writer.Write(t.Context(), auth.System, rest.Write{Type: "Story", Body: fmt.Appendf(nil,
			`{"Attributes":{"Name":"S%d","Scope":"Scope:0","Description":"%s"}}`, i, strings.Repeat("x", n))})
		if err != nil {
			t.Fatal(err)
		}
	}
	story, _ := model.Type("Story")
	moments, err := db.Column[int64](t.Context(), d, "SELECT moment FROM asset_version WHERE type = ? ORDER BY moment", story.Code)
	if err != nil || len(moments) != len(sizes) {
		t.Fatalf("%d versions, %v", len(moments), err)
	}
	return moments
}

// pages reads all stories page by page. Each page has its own memory budget. It returns the moments
// of the events, and the maximum number of bytes and of events of a page.
func pages(t *testing.T, s *Service, share int64) (moments []int64, bytes int64, events int) {
	t.Helper()
	for after, more := "0", true; more; {
		hold := memory.NewBudget(2 * share).Hold(1)
		p, err := s.Page(memory.With(t.Context(), hold), auth.System, Request{After: after, From: "Story", Page: "1000"})
		hold.Release()
		if err != nil {
			t.Fatalf("with %d bytes of memory after %s: %v", share, after, err)
		}
		for _, e := range p.Events {
			moments = append(moments, e.Next.Moment)
		}
		bytes, events = max(bytes, p.Bytes), max(events, len(p.Events))
		if more = p.More; more && p.Next.String() == after {
			t.Fatalf("with %d bytes of memory the page after %s does not go on", share, after)
		}
		after = p.Next.String()
	}
	return moments, bytes, events
}

// TestAPageOfLargeChangesEnds checks that a page ends when it has enough bytes, even if each batch
// adds only one change. Every change must be on exactly one page.
func TestAPageOfLargeChangesEnds(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		const size = 500_000 // so large that each change is a separate batch
		want := writeLarge(t, d, slices.Repeat([]int{size}, 10))
		got, bytes, _ := pages(t, newService(d), 100<<20)
		if !slices.Equal(got, want) {
			t.Errorf("the changes %v, want %v", got, want)
		}
		if bytes > maxBytes+size+10_000 {
			t.Errorf("a page has %d bytes", bytes)
		}
	})
}

// TestLargeTextsAreReplaced checks that the feed has changes whose texts before the change are too large to be read
// together.
func TestLargeTextsAreReplaced(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		want := writeLarge(t, d, slices.Repeat([]int{change.MaxBytes / 8}, 12))
		writer := bulk.New(asset.New(d, meta.Default(), nil, nil), find.New(d, meta.Default()))
		answer, err := writer.Run(t.Context(), auth.System, bulk.Request{Body: []byte(`{"from": "Story", "update": {"Description": "short"}}`)})
		if err != nil || !bytes.Contains(answer, []byte(`"count":12`)) {
			t.Fatalf("%s %v", answer, err)
		}
		got, _, _ := pages(t, newService(d), 100<<20)
		if len(got) != 2*len(want) {
			t.Errorf("%d changes, want %d", len(got), 2*len(want))
		}
	})
}

// TestAPageEndsWhereTheMemoryDoes checks that a page ends before a change for which there is too
// little memory. The next page must begin with this change.
func TestAPageEndsWhereTheMemoryDoes(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		want := writeLarge(t, d, []int{10, 200_000, 100_000, 500_000, 10, 300_000, 500_000, 400_000, 10, 20})
		s := newService(d)
		fewest := len(want)
		step := int64(150_000)
		if testing.Short() {
			step *= 4
		}
		for share := int64(2_050_000); share < 3_500_000; share += step {
			got, _, events := pages(t, s, share)
			if !slices.Equal(got, want) {
				t.Errorf("with %d bytes of memory the changes %v, want %v", share, got, want)
			}
			fewest = min(fewest, events)
		}
		if fewest >= len(want) {
			t.Error("the memory ends no page")
		}
	})
}
