package query

import (
	"slices"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
)

func TestLimitsAreNamed(t *testing.T) {
	many := func(n int, s string) []Text {
		list := make([]Text, n)
		for i := range list {
			list[i].Text = s
		}
		return list
	}
	items := func(tokens ...string) []Item {
		var list []Item
		for _, s := range tokens {
			list = append(list, Item{Text: Text{Text: s}})
		}
		return list
	}
	wide := []string{}
	for i := range 8 {
		for _, a := range []string{"Risk", "Customer", "IdentifiedIn", "DeliveryCategory"} {
			wide = append(wide, "Dependencies"+strings.Repeat(".SplitFrom", i)+"."+a+".Name")
		}
	}
	for what, c := range map[string]Request{
		"too many selected tokens: the limit is 500":                   {Select: items(strings.Split(strings.Repeat("Name,", MaxColumns)+"ID", ",")...)},
		"too many comparisons in one query: the limit is 200":          {Filter: many(MaxTerms+1, "+Name")},
		"too many terms to sort by: the limit is 500":                  {Sort: many(MaxColumns+1, "Name")},
		"too many attributes in findin: the limit is 200":              {Find: "x", FindIn: many(MaxTerms+1, "Name")},
		"too many relations in one query: the limit is 60":             {Select: items(wide...)},
		"too many hops: the limit is 16":                               {Select: items(strings.Repeat("SplitFrom.", 17) + "Name")},
		"too many values in one query: the limit is 200000":            {Filter: many(21, "Name=$x"), With: map[string][]string{"x": make([]string, 10_000)}},
		"too many values in a list: the limit is 10000":                {Filter: many(1, "Name=$x"), With: map[string][]string{"x": make([]string, 10_001)}},
		"too many bytes of text to compare with: the limit is 8388608": {Filter: many(3, "Name=$x"), With: map[string][]string{"x": slices.Repeat([]string{strings.Repeat("x", MaxText/2001)}, 1000)}},
		"Unknown AttributeDefinition: Story.AllocatedToDo.Name":        {Select: items("AllocatedToDo.Name")},
	} {
		c.From.Text = "Story"
		b, err := Bind(meta.Default(), c)
		if err == nil {
			_, err = NewPlan(b, Options{})
		}
		if fault.KindOf(err) != fault.Invalid || fault.Public(err) != what {
			t.Errorf("got %v, want %s", err, what)
		}
	}
}

// TestSearchesAreBounded checks that the search text counts once for each attribute.
func TestSearchesAreBounded(t *testing.T) {
	names := func(all ...string) (list []Text) {
		for _, s := range all {
			list = append(list, Text{Text: s})
		}
		return list
	}
	long := strings.Repeat("x", MaxText/3)
	for what, c := range map[string]struct {
		in   []Text
		want string
	}{
		"three attributes":         {names("Name", "Reference", "Description", "Source.Name"), "too many bytes of text to compare with: the limit is 8388608"},
		"the usual ones":           {nil, "too many bytes of text to compare with: the limit is 8388608"},
		"one attribute many times": {names(strings.Split(strings.Repeat("Name,", MaxTerms-1)+"Name", ",")...), ""},
	} {
		r := Request{From: Text{Text: "Story"}, Find: long + "xx", FindIn: c.in}
		if _, err := Bind(meta.Default(), r); fault.Public(err) != c.want && (err != nil || c.want != "") {
			t.Errorf("%s: got %v, want %q", what, err, c.want)
		}
	}
}
