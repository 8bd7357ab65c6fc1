package pages

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestBombs: what is small when it is sent stays small on a page.
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
		"deep JSON":            {deep, indentedJSON([]byte(deep))},
		"deep JSON, cut off":   {deep[:10_000], indentedJSON([]byte(deep[:10_000]))},
		"formatting, reopened": {bold.String() + strings.Repeat("<p>x", 6000), string(sanitized(bold.String() + strings.Repeat("<p>x", 6000)))},
		"formatting in lists":  {bold.String() + strings.Repeat("<li>x", 6000), string(sanitized(bold.String() + strings.Repeat("<li>x", 6000)))},
	} {
		if len(c.to) > 6*len(c.from) {
			t.Errorf("%s: %d bytes become %d", name, len(c.from), len(c.to))
		}
	}
	if got := indentedJSON([]byte(`{"a":["b,[",{}],"c":"\"{"}`)); got != "{\n  \"a\": [\n    \"b,[\",\n    {}\n  ],\n  \"c\": \"\\\"{\"\n}" {
		t.Errorf("JSON is indented as %s", got)
	}
	if got := string(sanitized("<p>a <b>b</b> <i>c<p>d")); got != "<p>a <b>b</b> <i>c</i></p><p><i>d</i></p>" {
		t.Errorf("formatting that stays open is read as %s", got)
	}
}

// TestLongReplacements: what is replaced in a text that others have made long is not
// shown.
func TestLongReplacements(t *testing.T) {
	text := any("a")
	long := jsonObject{{Name: "find", Value: "a"}, {Name: "replace", Value: strings.Repeat("a", 1000)}}
	for range 5 {
		pieces, after := changeOf(text, long, true, nil)
		n := 0
		for _, p := range pieces {
			n += len(p.Text)
		}
		if s, _ := after.(string); n > maxReplaced || len(s) > maxReplaced {
			t.Fatalf("%d bytes are shown, the text has %d", n, len(s))
		}
		text = after
	}
}

func TestBurndownOfAllTime(t *testing.T) {
	all := timebox{Begin: date{time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)}, End: date{time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}}
	_, err := (&visit{}).burndown(nil, all, time.Now())
	if f, ok := errors.AsType[*failure](err); !ok || f.Status != http.StatusBadRequest {
		t.Errorf("a sprint of ten thousand years: %v", err)
	}
}
