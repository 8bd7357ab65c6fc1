package pagetest

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKeyboard checks what keyboard returns: the elements in their order, whether each of them shows the
// focus, and the elements that the Tab key does not reach.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	site := pagesOf(t, map[string]string{
		"/": `
		<style>#bare { outline: none } #shadow:focus-visible { outline: none; box-shadow: 0 0 0 3px blue; transition: box-shadow 1s }
			#always { outline: none; box-shadow: 0 0 3px gray } #clear { outline: 2px solid transparent }</style>
		<a id=link href="/">link</a> <button id=second tabindex=0>b</button> <button disabled>off</button> <input type=hidden>
		<button id=bare>b</button> <button id=shadow>b</button> <button id=always>b</button> <button id=clear>b</button>
		<input type=radio name=r aria-label=one id=one> <input type=radio name=r aria-label=two id=two>
		<button tabindex=-1>by arrows</button> <button hidden>hidden</button><p tabindex=0 id=last>p</p>`,
		"/trap": `<button id=a>a</button><button id=b>b</button><button id=c>c</button>
			<script>document.querySelector('#b').onkeydown = e => e.preventDefault()</script>`,
		"/nothing": `<p>text</p>`,
	})
	b := newTab(t, site)
	b.open("/")
	b.click("#shadow") // the order must begin at the start of the page all the same
	stops, missed := keyboard(b)
	var got []string
	for _, s := range stops {
		_, id, _ := strings.Cut(s.Element, `id="`)
		id, _, _ = strings.Cut(id, `"`)
		got = append(got, fmt.Sprint(id, " ", s.Ring))
	}
	want := []string{"link true", "second true", "bare false", "shadow true", "always false", "clear false", "one true", "last true"}
	if diff := cmp.Diff(want, got); diff != "" || len(missed) > 0 {
		t.Errorf("missed %q, and differs: %s", missed, diff)
	}
	b.open("/trap")
	if stops, missed = keyboard(b); len(stops) != 2 || len(missed) != 1 || !strings.Contains(missed[0], `id="c"`) {
		t.Errorf("out of a trap %v, missed %q", stops, missed)
	}
	b.open("/nothing")
	if stops, missed = keyboard(b); len(stops) != 0 || len(missed) != 0 {
		t.Errorf("of nothing %v, missed %q", stops, missed)
	}
}

// TestOverflows checks that overflows finds elements that are wider than the screen, but not elements
// inside an element that scrolls.
func TestOverflows(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		write(w, `<p>text</p><div tabindex=0 style="overflow-x: auto"><div style="width: 900px">scrolls</div></div><div><b id=wide style="display: inline-block; width: 700px">wide</b></div>`)
	})
	mux.HandleFunc("/old", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html><link rel=icon href="data:,"><title>old</title><p>no viewport`)
	})
	b := newTab(t, serveHTTP(t, mux))
	b.size(390, 800)
	b.open("/")
	if got := overflows(b); len(got) != 2 || !strings.Contains(got[0], "on a screen of 390") || !strings.Contains(got[1], `id="wide"`) {
		t.Errorf("at 390 pixels: %q", got)
	}
	b.size(1280, 800)
	if got := overflows(b); len(got) != 0 {
		t.Errorf("at 1280 pixels: %q", got)
	}
	b.size(390, 800)
	b.open("/old")
	if got := overflows(b); len(got) != 1 || !strings.Contains(got[0], "names no viewport") {
		t.Errorf("without a viewport: %q", got)
	}
}

// TestAccessible checks that a finding of axe-core fails the test, and only in the color scheme that has
// the finding.
func TestAccessible(t *testing.T) {
	t.Parallel()
	site := pagesOf(t, map[string]string{
		"/":     `<img alt="a dog" src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">`,
		"/alt":  `<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">`,
		"/dark": `<style>p { transition: color 1h } @media (prefers-color-scheme: dark) { p { color: #333 } }</style><p>dark on dark</p>`,
	})
	for path, want := range map[string][]string{
		"/":     nil,
		"/alt":  {"/alt, dark: image-alt (critical)", "/alt, light: image-alt (critical)"},
		"/dark": {"/dark, dark: color-contrast (serious)"},
	} {
		looked := schemes(t, path)
		want = slices.DeleteFunc(want, func(part string) bool {
			return !slices.ContainsFunc(looked, func(scheme string) bool { return strings.Contains(part, ", "+scheme+":") })
		})
		fails(t, failures(t, func(t testing.TB) {
			b := newTab(t, site)
			b.open(path)
			accessible(t, b)
		}), want...)
	}
}

// TestInspect checks that inspect accepts a good page on every screen and stores pictures of it, and that
// it reports all problems of a bad page.
func TestInspect(t *testing.T) {
	site := pagesOf(t, map[string]string{
		"/good": `<p>text</p><a href="/good">again</a>`,
		"/bad":  `<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw="><div style="width: 600px">wide</div><button style="outline: none">b</button>`,
	})
	before := *pictures
	*pictures = filepath.Join(t.TempDir(), "pictures")
	t.Cleanup(func() { *pictures = before })
	inspect(newTab(t, site), shown{name: "good", path: "/good"}, widths)
	for _, on := range screens(t, "good", widths) {
		name := fmt.Sprintf("good-%d-%s", on.width, on.scheme)
		if picture, err := os.ReadFile(filepath.Join(*pictures, name+".png")); err != nil || !strings.HasPrefix(string(picture), "\x89PNG") {
			t.Errorf("no picture of %s: %v", name, err)
		}
	}
	got := failures(t, func(t testing.TB) {
		b := newTab(t, site)
		b.size(390, 800)
		for _, what := range append(wrong(b, shown{path: "/bad", bytes: 100}), unreached(b)...) {
			t.Error(what)
		}
	})
	fails(t, got, "bytes were transferred, at most 100", "608 pixels wide", "image-alt", "nothing shows that it has the focus: <button")
}

// TestSignIn checks that signIn sends the form. It must fail the test if the sign-in is refused.
func TestSignIn(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /alds/ui/sign-in", func(w http.ResponseWriter, _ *http.Request) {
		write(w, `<form method=post><label>Name <input name=username></label><label>Password <input name=password type=password></label><button type=submit>Sign in</button></form>`)
	})
	mux.HandleFunc("POST /alds/ui/sign-in", func(w http.ResponseWriter, r *http.Request) {
		if r.PostFormValue("username") != "ada" || r.PostFormValue("password") != password {
			w.WriteHeader(http.StatusUnauthorized)
			write(w, "<p>no</p>")
			return
		}
		http.Redirect(w, r, "/alds/ui/", http.StatusSeeOther)
	})
	mux.HandleFunc("GET /alds/ui/{$}", func(w http.ResponseWriter, _ *http.Request) { write(w, "<p>welcome</p>") })
	site := serveHTTP(t, mux)
	b := newTab(t, site)
	if signIn(b, "ada", password); b.text("p") != "welcome" {
		t.Errorf("%s", b.html())
	}
	got := failures(t, func(t testing.TB) {
		b := newTab(t, site)
		b.expect("401")
		signIn(b, "ada", "guessed")
	})
	fails(t, got, "ada is at /alds/ui/sign-in with 401")
}

// TestFill checks that fill creates assets of the types that the pages show, on each database.
func TestFill(t *testing.T) {
	t.Parallel()
	for _, dialect := range dialects() {
		t.Run(dialect, func(t *testing.T) {
			oids := serve(t, dialect).fill()
			for _, typ := range []string{"Member", "Scope", "Story", "Task", "Test", "Defect"} {
				if !strings.HasPrefix(oids[typ], typ+":") {
					t.Errorf("no %s: %v", typ, oids)
				}
			}
		})
	}
}
