package pagetest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"
)

// TestTrouble checks that a tab reports the faults of a page and nothing else.
func TestTrouble(t *testing.T) {
	t.Parallel()
	elsewhere := pagesOf(t, map[string]string{"/picture": "", "/frame": ""})
	cases := []struct {
		what, body string
		trouble    []string
	}{
		{"nothing", `<a href="/">home</a><img alt="" src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">`, nil},
		{"script that was stored", `<img alt="" src="data:," onerror="alert('stored')">`, []string{`alert: "stored"`}},
		{"a question", `<script>confirm('sure?')</script>`, []string{`confirm: "sure?"`}},
		{"an error of its own", `<script>console.error('lost', 7); console.log('found')</script>`, []string{"console.error: lost 7"}},
		{"an exception", `<script>undefined.name</script>`, []string{"TypeError"}},
		{"a promise that fails", `<script>Promise.reject(new Error('nobody listens'))</script>`, []string{"nobody listens"}},
		{"nothing found", `<img alt="" src="/gone">`, []string{"404 (Not Found) http://"}},
		{"a picture of another host", `<img alt="" src="` + elsewhere + `/picture">`, []string{"another host: " + elsewhere + "/picture"}},
		{"a frame of another host", `<iframe title=frame src="` + elsewhere + `/frame"></iframe>`, []string{"another host: " + elsewhere + "/frame"}},
		{
			"a font of a host that cannot be reached", `<style>@font-face { font-family: x; src: url(http://fonts.invalid/x) } p { font-family: x }</style><p>text</p>`,
			[]string{"another host: http://fonts.invalid/x", "net::ERR_NAME_NOT_RESOLVED http://fonts.invalid/x"},
		},
		{
			"a socket of another host", `<script>document.body.id = 'busy'; new WebSocket('ws://sockets.invalid/').onerror = () => { busy.id = '' }</script>`,
			[]string{"another host: ws://sockets.invalid/", "sockets.invalid/' failed"},
		},
		{"another window", `<script>window.open('about:blank')</script>`, []string{"window was opened"}},
	}
	bodies := map[string]string{}
	for i, c := range cases {
		bodies[fmt.Sprintf("/%d", i)] = c.body
	}
	b := newTab(t, pagesOf(t, bodies))
	for i, c := range cases {
		for _, part := range c.trouble {
			b.expect(part)
		}
		b.open(fmt.Sprintf("/%d", i))
		eval[bool](b, `document.fonts.ready.then(() => true)`)
		b.waitGone("#busy")
	}
}

// TestExpect checks that a fault allowed by expect does not fail the test. The test must fail if the
// allowed fault does not happen.
func TestExpect(t *testing.T) {
	t.Parallel()
	site := pagesOf(t, map[string]string{"/": `<script>alert('one'); alert('two')</script>`})
	for expected, want := range map[string][]string{
		"alert": nil,
		"one":   {`alert: "two"`},
		"three": {`alert: "one"`, `alert: "two"`, "nothing was seen of what the test expects: three"},
	} {
		fails(t, failures(t, func(t testing.TB) {
			b := newTab(t, site)
			b.expect(expected)
			b.open("/")
		}), want...)
	}
}

// TestPolicy checks that the tab reports a violation of the Content-Security-Policy, and that such a policy
// does not disturb the helpers.
func TestPolicy(t *testing.T) {
	t.Parallel()
	site := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; img-src data:; style-src 'unsafe-inline'")
		write(w, `<p onclick="alert(1)">text</p><script>alert(2)</script>`)
	}))
	fails(t, failures(t, func(t testing.TB) {
		b := newTab(t, site)
		b.open("/")
		accessible(t, b)
		b.click("p")
	}), "Content Security Policy", "Content Security Policy")
}

// TestActions checks that actions in a tab reach the page, and that the tab reads what the page shows.
func TestActions(t *testing.T) {
	t.Parallel()
	site := pagesOf(t, map[string]string{"/": `
		<style>#late { display: none } @media (prefers-color-scheme: dark) { #scheme::after { content: "dark" } }</style>
		<form action="/found"><label>Search <input name=q value=old></label><button type=submit>Go</button></form>
		<button id=shows>Show</button><p id=late>it is here</p><p id=scheme></p><p id=key></p><p id=goes>going</p>
		<script>
			shows.onclick = () => requestAnimationFrame(() => { late.style.display = 'block'; goes.remove() });
			document.onkeydown = e => { key.textContent += (e.ctrlKey ? 'Ctrl+' : '') + e.key + ' ' };
		</script>`, "/found": `<p id=found>found</p><a id=back href="/">back</a>`})
	b := newTab(t, site)
	if status := b.open("/missing"); status != http.StatusNotFound {
		t.Errorf("a page that is not there is answered with %d", status)
	}
	b.expect("404")
	if status := b.open("/"); status != http.StatusOK {
		t.Errorf("%d", status)
	}
	b.fill("[name=q]", "a & ü 💳")
	if status := b.submit("form"); status != http.StatusOK || b.path() != "/found?q=a+%26+%C3%BC+%F0%9F%92%B3" || b.text("#found") != "found" {
		t.Errorf("%d at %s: %s", status, b.path(), b.html())
	}
	b.follow("#back")
	b.click("[name=q]")
	b.loads(func() { b.press(kb.Enter) })
	if b.path() != "/found?q=old" {
		t.Errorf("Enter leads to %s", b.path())
	}
	b.follow("#back")
	b.click("#shows")
	b.waitFor("#late")
	b.waitGone("#goes")
	b.press("k", kb.ModifierCtrl)
	if key := b.text("#key"); !strings.HasSuffix(key, "Ctrl+k") || b.exists("#goes") || !b.exists("#late") {
		t.Errorf("%q: %s", key, b.html())
	}
	const scheme = `getComputedStyle(document.querySelector('#scheme'), '::after').content`
	for _, c := range []struct{ scheme, want string }{{dark, `"dark"`}, {light, "none"}} {
		if b.colorScheme(c.scheme); eval[string](b, scheme) != c.want {
			t.Errorf("%s: %s", c.scheme, eval[string](b, scheme))
		}
	}
	b.size(390, 800)
	if got := eval[[]int](b, "[innerWidth, innerHeight, document.documentElement.clientWidth]"); !cmp.Equal(got, []int{390, 800, 390}) {
		t.Errorf("the page has %d pixels", got)
	}
}

// TestImpatience checks that a test ends if an action in a tab takes too long. The message must name the
// action.
func TestImpatience(t *testing.T) {
	t.Parallel()
	b := newTab(t, pagesOf(t, map[string]string{"/": `<p id=hidden hidden>text</p>`}))
	b.open("/")
	for what, action := range map[string]func(b *tab){
		"wait for #gone":       func(b *tab) { b.waitFor("#gone") },
		"wait for #hidden":     func(b *tab) { b.waitFor("#hidden") },
		"there is no #hidden":  func(b *tab) { b.waitGone("#hidden") },
		"click on #gone":       func(b *tab) { b.click("#gone") },
		"click on #nowhere":    func(b *tab) { b.follow("#nowhere") },
		"fill in #gone":        func(b *tab) { b.fill("#gone", "text") },
		"read #gone":           func(b *tab) { b.text("#gone") },
		"wait for the next":    func(b *tab) { b.loads(func() {}) },
		"evaluate new Promise": func(b *tab) { eval[bool](b, "new Promise(() => {})") },
	} {
		var got []string
		named := func(failure string) bool { return strings.Contains(failure, what) }
		// On a busy machine the time limit may end before the action begins.
		for limit := 50 * time.Millisecond; limit < time.Minute && !slices.ContainsFunc(got, named); limit *= 4 {
			got = failures(t, func(r testing.TB) {
				b.t, b.patience = r, limit
				action(b)
			})
		}
		b.t, b.patience = t, patience
		fails(t, got, what)
	}
	fails(t, failures(t, func(t testing.TB) { newTab(t, "http://127.0.0.1:1").open("/") }), "open /: ")
}

// TestTabs checks that tabs do not share cookies.
func TestTabs(t *testing.T) {
	t.Parallel()
	site := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := r.Cookie("known")
		http.SetCookie(w, &http.Cookie{Name: "known", Value: "yes"}) //nolint:gosec // a cookie of the test
		write(w, fmt.Sprintf("<p>%t</p>", err == nil))
	}))
	first, second := newTab(t, site), newTab(t, site)
	for i, c := range []struct {
		b    *tab
		want string
	}{{first, "false"}, {first, "true"}, {second, "false"}} {
		if c.b.open("/"); c.b.text("p") != c.want {
			t.Errorf("opened %d times, the cookie is known: %s", i, c.b.text("p"))
		}
	}
}

// TestWithoutScript checks that withoutScript disables scripts of the page, but not those of the test.
func TestWithoutScript(t *testing.T) {
	t.Parallel()
	site := pagesOf(t, map[string]string{
		"/":      `<p id=says>plain</p><form action="/found"><label>Search <input name=q></label><button type=submit>Go</button></form><script>says.textContent = 'scripted'</script>`,
		"/found": `<p id=found>found</p>`,
	})
	b := newTab(t, site)
	if b.open("/"); b.text("#says") != "scripted" {
		t.Errorf("with script the page says %s", b.text("#says"))
	}
	b.withoutScript()
	if b.open("/"); b.text("#says") != "plain" {
		t.Errorf("without script the page says %s", b.text("#says"))
	}
	b.fill("[name=q]", "text")
	b.submit("form")
	b.waitFor("#found")
	if b.path() != "/found?q=text" || b.exists("#says") {
		t.Errorf("at %s: %s", b.path(), b.html())
	}
}

// TestRequests checks that a tab records each request with the number of transferred bytes, with and
// without the cache.
func TestRequests(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { write(w, `<img alt="" src="/picture.svg">`) })
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusSeeOther) })
	mux.HandleFunc("/picture.svg", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/svg+xml")
		w.Header().Set("Cache-Control", "max-age=3600")
		fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg"><!--%s--></svg>`, strings.Repeat("x", 5000))
	})
	site := serveHTTP(t, mux)
	b := newTab(t, site)
	visit := func() (urls []string, bytes int64) {
		before := len(b.requests())
		b.open("/moved")
		made := b.requests()[before:]
		for _, r := range made {
			if path, ours := strings.CutPrefix(r.url, site); ours {
				urls = append(urls, path)
			}
		}
		return urls, weight(made)
	}
	urls, first := visit()
	if diff := cmp.Diff([]string{"/moved", "/", "/picture.svg"}, urls); diff != "" {
		t.Errorf("requests: %s", diff)
	}
	_, cached := visit()
	b.withoutCache()
	_, again := visit()
	if first < 5500 || first > 7500 || cached > first-5000 || again < 5500 {
		t.Errorf("%d bytes at first, %d with a cache, %d without", first, cached, again)
	}
}
