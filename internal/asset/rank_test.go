package asset_test

import (
	"testing"

	"github.com/alds-dev/alds/internal/asset"
)

func near(token, other string, after bool) *asset.Command {
	c := update(token)
	c.Changes = []asset.Change{{Name: "Order", Near: &asset.Value{Kind: asset.Text, Text: other}, After: after}}
	return c
}

func TestRankBeforeAndAfter(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		story := func(name string) *asset.Command { return create("Story", "@"+name, "Name", name, "Scope", "Scope:0") }
		s := w.must(story("a"), story("b"), story("c"), create("Defect", "@d", "Name", "d", "Scope", "Scope:0"))
		order := `SELECT name FROM asset WHERE type IN (4, 5) ORDER BY order_key`
		w.must(near(s[3], s[0], false))
		w.expect("d\na\nb\nc\n", order)
		w.must(near(s[0], s[2], true), near(s[2], s[1], false))
		w.expect("d\nc\nb\na\n", order)
		for range 30 { // halving runs out of room and neighbours are ranked anew
			w.must(near(s[0], s[2], false), near(s[3], s[2], false))
		}
		w.expect("a\nd\nc\nb\n", order)
		w.consistent()
		e := w.must(create("Epic", "@e", "Name", "e", "Scope", "Scope:0"))[0]
		if got := w.fails(near(s[0], e, true)); got != "Violation'Invalid'Story.Order" {
			t.Error(got)
		}
		made := story("f")
		made.Changes = append(made.Changes, near(s[0], s[3], true).Changes...)
		w.must(made)
		w.expect("a\nd\nf\nc\nb\n", order)
	})
}
