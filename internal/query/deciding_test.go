package query

import (
	"slices"
	"testing"

	"github.com/alds-dev/alds/internal/query/token"
)

// TestDeciding checks which of several values decides a comparison with <, <=, > or >=.
func TestDeciding(t *testing.T) {
	numbers := []Value{{Kind: NumOf, Num: 3}, {Kind: NumOf, Num: 1}, {Kind: NumOf, Num: 2}}
	moments := []Value{{Kind: IntOf, Int: 30}, {Kind: IntOf, Int: 10}}
	texts := []Value{{Kind: TextOf, Text: "B"}, {Kind: TextOf, Text: "a"}, {Kind: TextOf, Text: "ä"}, {Kind: TextOf, Text: "b c"}}
	slots := []Value{{Kind: NumOf, Num: 3, slot: slotFirst}, {Kind: NumOf, Num: 1, slot: slotFirst + 1}}
	for _, c := range []struct {
		test         token.Test
		values, want []Value
	}{
		{token.Gt, numbers, numbers[1:2]},
		{token.Ge, numbers, numbers[1:2]},
		{token.Lt, numbers, numbers[:1]},
		{token.Le, numbers, numbers[:1]},
		{token.Gt, moments, moments[1:]},
		{token.Lt, moments, moments[:1]},
		{token.Eq, numbers, numbers},
		{token.Ne, numbers, numbers},
		{token.Gt, texts, texts[1:2]},
		{token.Le, texts, texts[3:]},
		{token.Eq, texts, texts},
		{token.Gt, slots, slots},
		{token.Gt, append(moments[:1:1], numbers[0]), append(moments[:1:1], numbers[0])},
		{token.Lt, nil, nil},
	} {
		if got := deciding(c.test, slices.Clone(c.values)); !slices.Equal(got, c.want) {
			t.Errorf("%s %v: %v, want %v", c.test, c.values, got, c.want)
		}
	}
}
