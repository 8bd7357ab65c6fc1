package ui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// written formats pieces as one text, with removed text as [-...] and added text as [+...].
func written(pieces []Piece) string {
	var b strings.Builder
	for _, p := range pieces {
		switch {
		case p.Removed:
			b.WriteString("[-" + p.Text + "]")
		case p.Added:
			b.WriteString("[+" + p.Text + "]")
		default:
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

func TestDifference(t *testing.T) {
	long := strings.Repeat("x", maxCompared)
	for name, c := range map[string]struct{ before, after, want string }{
		"nothing":             {"", "", ""},
		"the same":            {"a", "a", "a"},
		"new":                 {"", "a", "[+a]"},
		"gone":                {"a", "", "[-a]"},
		"a word":              {"Pay by card", "Pay by cash", "Pay by [-card][+cash]"},
		"a word more":         {"Pay by card", "Pay by credit card", "Pay by [+credit ]card"},
		"a tag":               {"<p>Pay by card</p>", "<p>Pay <b>by</b> card</p>", "<p>Pay [-by][+<b>by</b>] card</p>"},
		"letters":             {"für alle", "fur alle", "[-für][+fur] alle"},
		"no spaces":           {"支払いはカード", "支払いは現金", "支払いは[-カード][+現金]"},
		"a phrase":            {"It takes every card that we know", "It takes any coin that we know", "It takes [-every card][+any coin] that we know"},
		"another paragraph":   {"<p>The invoice lists all items.</p><p>One</p>", "<p>The invoice lists all items.</p><p>Two</p>", "<p>The invoice lists all items.</p><p>[-One][+Two]</p>"},
		"nothing in common":   {"card", "gold", "[-card]\n[+gold]"},
		"a text written anew": {"<p>Pay by card</p>", "<p>An invoice comes with the parcel</p>", "[-<p>Pay by card</p>]\n[+<p>An invoice comes with the parcel</p>]"},
		"few words in common": {"<p>The card of the customer is checked</p>", "<p>Whoever orders gets the invoice of it by post</p>", "[-<p>The card of the customer is checked</p>]\n[+<p>Whoever orders gets the invoice of it by post</p>]"},
		"too long":            {long, "a", "[-" + long + "]\n[+a]"},
		"half a tag":          {"a < b and a > 0", "a < c and a > 0", "a < [-b][+c] and a > 0"},
		"signs alone":         {"--", "-", "-[--]"},
	} {
		t.Run(name, func(t *testing.T) {
			got := new(Differences).Of(c.before, c.after)
			if d := cmp.Diff(c.want, written(got)); d != "" {
				t.Errorf("want, got:\n%s", d)
			}
			var before, after strings.Builder
			for _, p := range got {
				if !p.Added && p.Text != "\n" {
					before.WriteString(p.Text)
				}
				if !p.Removed && p.Text != "\n" {
					after.WriteString(p.Text)
				}
			}
			if before.String() != c.before || after.String() != c.after {
				t.Errorf("the pieces make %q and %q", before.String(), after.String())
			}
		})
	}
}

// TestManyWords checks that each word gets a character that no other word has.
func TestManyWords(t *testing.T) {
	for _, number := range []int{0, 1, firstSurrogate - 2, firstSurrogate - 1, firstSurrogate, maxCompared} {
		if r := runeOf(number); numberOf(r) != number || string(r) == "\ufffd" {
			t.Errorf("%d is %x", number, r)
		}
	}
	var b strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&b, "%d ", i)
	}
	text := b.String()
	if got := written(new(Differences).Of(text, text+"more")); got != text+"[+more]" {
		t.Errorf("%.200s", got)
	}
}
