package pages

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A form shows definitions in its fields where these say the same, and sends them as
// they were.
func TestDefinitionsOfAForm(t *testing.T) {
	for name, c := range map[string]struct {
		definitions string
		text        bool // they are shown as text alone
	}{
		"one":              {`[{"type":"AssetChanged","from":"Story","attributes":["Status"],"filter":["Scope='Scope:0'","Estimate>'2'"],"select":["Name","Number"]}]`, false},
		"both kinds":       {`[{"type":"AssetCreated","from":"Story","userContext":"Member:20"},{"type":"AssetChanged","from":"Story","attributes":["Name"],"userContext":"Member:20"}]`, false},
		"two types":        {`[{"type":"AssetCreated","from":"Story"},{"type":"AssetCreated","from":"Defect"}]`, true},
		"variables":        {`[{"type":"AssetCreated","from":"Story","filter":["Scope=$S"],"with":{"$S":"Scope:0"}}]`, true},
		"a filter of two":  {`[{"type":"AssetCreated","from":"Story","filter":["Name='a\nb'"]}]`, true},
		"the other order":  {`[{"type":"AssetChanged","from":"Story"},{"type":"AssetCreated","from":"Story"}]`, true},
		"what is no list":  {`{"type":1}`, true},
		"nothing":          {`[]`, true},
		"a key to be told": {`[{"type":"AssetCreated","from":"Story","attributes":["Name"]}]`, true},
	} {
		t.Run(name, func(t *testing.T) {
			var f webhookForm
			f.define([]byte(c.definitions))
			if f.AsJSON != c.text {
				t.Fatalf("shown as text: %v", f.AsJSON)
			}
			sent := []byte(f.JSON)
			if !f.AsJSON {
				sent, _ = json.Marshal(f.definitions())
			}
			if !sameJSON(sent, []byte(c.definitions)) {
				t.Errorf("it sends %s", sent)
			}
		})
	}
}

func TestPlaceIn(t *testing.T) {
	for _, c := range []struct {
		text string
		at   int
		want string
	}{
		{"", 0, "line 1, column 1"},
		{"abc", 2, "line 1, column 3"},
		{"a\r\nbc", 4, "line 2, column 2"},
		{"ä\nü", 4, "line 2, column 2"},
		{"a", 99, "line 1, column 2"},
		{"a", -1, "line 1, column 1"},
	} {
		if got := placeIn(c.text, c.at); got != c.want {
			t.Errorf("%q, %d: %s, want %s", c.text, c.at, got, c.want)
		}
	}
}

func TestLatencyText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 ms", 6824 * time.Microsecond: "6 ms", 1500 * time.Millisecond: "1.5 s", 70 * time.Second: "1m10s", 50 * time.Hour: "50h0m0s",
	} {
		if got := latencyText(d); got != want {
			t.Errorf("%d: %s, want %s", d, got, want)
		}
	}
}

func TestUTCInstant(t *testing.T) {
	for text, want := range map[string]string{
		"2026-01-31T12:00":          "2026-01-31T12:00:00Z",
		"2026-01-31 12:00":          "2026-01-31T12:00:00Z",
		"2026-01-31 12:00 UTC":      "2026-01-31T12:00:00Z",
		"2026-01-31 12:00:07":       "2026-01-31T12:00:07Z",
		"2026-01-31":                "2026-01-31T00:00:00Z",
		"2026-01-31T12:00:00+01:00": "2026-01-31T11:00:00Z",
		"soon":                      "",
		"31.1.2026":                 "",
	} {
		got := ""
		if at, err := utcInstant(text); err == nil {
			got = at.Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// An address is shown without what may be secret in it.
func TestAddress(t *testing.T) {
	for given, want := range map[string]string{
		"https://example.org/hook":                    "https://example.org/hook",
		"https://user:hidden@example.org/h?k=hidden#": "https://example.org/h",
		"https://[::1]:80/":                           "https://[::1]:80/",
		":":                                           "",
	} {
		w := webhook{URL: given}
		if got := w.Address(); got != want || w.HasHidden() != (given != want) {
			t.Errorf("%s: %s, hidden: %v", given, got, w.HasHidden())
		}
	}
}

func TestStretch(t *testing.T) {
	for _, c := range []struct {
		s             listStretch
		from, to      int
		before, after string
	}{
		{listStretch{Size: 25}, 0, 0, "", ""},
		{listStretch{Size: 25, Total: 10}, 1, 10, "", ""},
		{listStretch{Size: 25, Total: 60}, 1, 25, "", "25,25"},
		{listStretch{Size: 25, Total: 60, Start: 50}, 51, 60, "25,25", ""},
		{listStretch{Size: 25, Total: 60, Start: 10}, 11, 35, "25,0", "25,35"},
		{listStretch{Size: 25, Total: 60, Start: 100}, 60, 60, "25,75", ""},
	} {
		c.s.Query = url.Values{"state": {"x"}, "done": {"saved"}}
		page := func(link string) string {
			u, _ := url.Parse(link)
			if strings.Contains(link, "done") {
				t.Errorf("%s says again what was done", link)
			}
			return u.Query().Get("page")
		}
		got := []any{c.s.From(), c.s.To(), page(c.s.Before()), page(c.s.After())}
		if d := cmp.Diff([]any{c.from, c.to, c.before, c.after}, got); d != "" {
			t.Errorf("%+v:\n%s", c.s, d)
		}
	}
}

func TestShownBody(t *testing.T) {
	long := `"` + strings.Repeat("ä", maxRequest) + `"`
	for given, want := range map[string]struct {
		text string
		cut  bool
	}{
		`{"a":1}`: {"{\n  \"a\": 1\n}", false},
		`no JSON`: {"no JSON", false},
		long:      {long[:maxRequest-1], true}, // not within a character
	} {
		if text, cut := shownBody([]byte(given)); text != want.text || cut != want.cut {
			t.Errorf("%.20s: %.20s, %d bytes, cut: %v", given, text, len(text), cut)
		}
	}
}
