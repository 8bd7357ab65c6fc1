package home

import (
	"fmt"
	"testing"

	"github.com/alds-dev/alds/internal/web/ui"
)

// TestAsNumber checks which texts are numbers of items.
func TestAsNumber(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"S-01001": "[S-01001]", "s-1001": "[S-01001]", " TK-7 ": "[TK-00007]", "S-1234567": "[S-1234567]", "1001": "[S-01001 D-01001 E-01001 TK-01001 AT-01001 TS-01001 I-01001 R-01001]",
		"pay": "[]", "S-": "[]", "ABCD-1": "[]", "1001 pay": "[]", "": "[]", "1234567890": "[]",
	} {
		if got := fmt.Sprint(asNumber(text)); got != want {
			t.Errorf("%q means %s, want %s", text, got, want)
		}
	}
}

// TestWordsIn checks that each word of a search is looked for, and that none of them is a pattern.
func TestWordsIn(t *testing.T) {
	t.Parallel()
	filters, values := wordsIn(" pay  100% c*rd")
	if got := fmt.Sprint(filters, values); got != "[Name~=$Word0 Name~=$Word1 Name~=$Word2] map[$Dead:Dead $Word0:pay $Word1:100 $Word2:crd]" {
		t.Error(got)
	}
	if filters, _ := wordsIn("a b c d e f g h i j"); len(filters) != maxWords {
		t.Errorf("%d words are searched for", len(filters))
	}
}

// TestGroups checks that items are put together by project and sprint, and that each sprint is listed once.
func TestGroups(t *testing.T) {
	t.Parallel()
	of := func(scope, sprint string) item {
		return item{Scope: ui.Reference{Oid: scope}, In: ui.Reference{Oid: sprint}}
	}
	all := groups([]item{of("Scope:1", "NULL"), of("Scope:1", "Timebox:1"), of("Scope:1", "Timebox:1"), of("Scope:2", "Timebox:1"), of("Scope:2", "")})
	text := ""
	for _, g := range all {
		text += fmt.Sprintf("%s %q %d, ", g.Scope, g.Sprint, len(g.Items))
	}
	if want := `Scope:1 "" 1, Scope:1 "Timebox:1" 2, Scope:2 "Timebox:1" 1, Scope:2 "" 1, `; text != want {
		t.Errorf("the groups are %s", text)
	}
	if found := sprints(all); len(found) != 1 || found[0].Open != 3 {
		t.Errorf("the sprints are %v", found)
	}
}
