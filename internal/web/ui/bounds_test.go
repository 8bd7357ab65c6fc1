package ui

import (
	"fmt"
	"strings"
	"testing"
)

// TestBombs checks that small input cannot become a large page.
func TestBombs(t *testing.T) {
	deep := strings.Repeat("[", 2000) + "1" + strings.Repeat(",1", 50_000) + strings.Repeat("]", 2000)
	var bold strings.Builder
	for i := range 450 {
		fmt.Fprintf(&bold, "<b a=%d>", i)
	}
	for name, c := range map[string]struct {
		from string
		to   string
	}{
		"deep JSON":            {deep, IndentedJSON([]byte(deep))},
		"deep JSON, cut off":   {deep[:10_000], IndentedJSON([]byte(deep[:10_000]))},
		"formatting, reopened": {bold.String() + strings.Repeat("<p>x", 6000), string(Sanitized(bold.String() + strings.Repeat("<p>x", 6000)))},
		"formatting in lists":  {bold.String() + strings.Repeat("<li>x", 6000), string(Sanitized(bold.String() + strings.Repeat("<li>x", 6000)))},
	} {
		if len(c.to) > 6*len(c.from) {
			t.Errorf("%s: %d bytes become %d", name, len(c.from), len(c.to))
		}
	}
	if got := IndentedJSON([]byte(`{"a":["b,[",{}],"c":"\"{"}`)); got != "{\n  \"a\": [\n    \"b,[\",\n    {}\n  ],\n  \"c\": \"\\\"{\"\n}" {
		t.Errorf("JSON is indented as %s", got)
	}
	if got := string(Sanitized("<p>a <b>b</b> <i>c<p>d")); got != "<p>a <b>b</b> <i>c</i></p><p><i>d</i></p>" {
		t.Errorf("formatting that stays open is read as %s", got)
	}
}

// TestDifferencesEnd checks that a page stops comparing after the time limit, whatever the texts
// are. The short test only pretends that the time is over; the long test compares until it is.
func TestDifferencesEnd(t *testing.T) {
	var d Differences
	hostile := func() {
		d.Of("x"+strings.Repeat(".", 6000)+"a"+strings.Repeat(".", 1900)+"y", "z"+strings.Repeat(".", 8000)+"w")
		d.Of("x"+strings.Repeat(".", 24500)+"a"+strings.Repeat(".", 7900)+"y", "z"+strings.Repeat(".", 32000)+"w")
		d.Of(strings.Repeat("a b ", 8192), strings.Repeat("b a ", 8192))
	}
	if hostile(); d.spent == 0 {
		t.Error("differences take no time of the page")
	}
	if testing.Short() {
		d.spent = maxDifferences + 1
	} else {
		for range 200 {
			hostile()
		}
		if d.spent > 10*maxDifferences {
			t.Errorf("%v were spent on differences", d.spent)
		}
	}
	spent := d.spent
	if got := written(d.Of("Pay by card", "Pay by cash")); got != "[-Pay by card]\n[+Pay by cash]" || d.spent != spent {
		t.Errorf("after its time a page shows %s", got)
	}
}
