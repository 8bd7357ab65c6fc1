package ui

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStretch(t *testing.T) {
	for _, c := range []struct {
		s             ListPage
		from, to      int
		before, after string
	}{
		{ListPage{Size: 25}, 0, 0, "", ""},
		{ListPage{Size: 25, Total: 10}, 1, 10, "", ""},
		{ListPage{Size: 25, Total: 60}, 1, 25, "", "25,25"},
		{ListPage{Size: 25, Total: 60, Start: 50}, 51, 60, "25,25", ""},
		{ListPage{Size: 25, Total: 60, Start: 10}, 11, 35, "25,0", "25,35"},
		{ListPage{Size: 25, Total: 60, Start: 100}, 60, 60, "25,75", ""},
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
