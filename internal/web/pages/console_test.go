package pages

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestConsoleRunsNothing checks that a link runs nothing. A form without an action, or with an
// unknown path, also runs nothing.
func TestConsoleRunsNothing(t *testing.T) {
	b, s := newBrowser(t)
	b.signIn("admin", "a:b", "")
	for _, c := range []struct {
		method, path string
		form         url.Values
		status       int
	}{
		{http.MethodGet, "/ui/console?path=api/tokens&request=x", nil, http.StatusBadRequest},
		{http.MethodPost, "/ui/console", url.Values{"request": {"{}"}, "path": {"api/tokens"}, "action": {"run"}}, http.StatusBadRequest},
		{http.MethodPost, "/ui/console", url.Values{"request": {"{}"}, "action": {"look"}}, http.StatusOK},
		{http.MethodPost, "/ui/console", url.Values{"request": {"{}"}}, http.StatusOK},
	} {
		before := len(s.asked)
		if c.form != nil {
			c.form.Set("csrf", b.csrf("/ui/applications"))
			before = len(s.asked)
		}
		got, page := b.do(c.method, c.path, c.form, "HX-Request", "true")
		if got.status != c.status || c.status == http.StatusOK && !strings.Contains(page, "Say what to do") {
			t.Errorf("%s %s: %d: %s", c.method, c.path, got.status, page)
		}
		for _, asked := range s.asked[before:] {
			if !strings.Contains(asked, "IsSelf") {
				t.Errorf("%s %s sends %s", c.method, c.path, asked)
			}
		}
	}
}
