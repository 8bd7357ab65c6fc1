package pagetest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
)

// pagesOf serves small pages until the test ends. The key of bodies is the path of a page.
func pagesOf(t *testing.T, bodies map[string]string) (site string) {
	t.Helper()
	mux := http.NewServeMux()
	for path, body := range bodies {
		if path == "/" {
			path = "/{$}" // matches only "/", not the paths below it
		}
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { write(w, body) })
	}
	return serveHTTP(t, mux)
}

func serveHTTP(t *testing.T, h http.Handler) (site string) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

// write answers with a page that has no fault outside of body.
func write(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, `<!doctype html><html lang=en><head><title>A page</title><link rel=icon href="data:,">
<meta name=viewport content="width=device-width, initial-scale=1"><style>:root { color-scheme: light dark; background: Canvas; color: CanvasText }</style></head>
<body><main><h1>A page</h1>%s</main></body></html>`, body)
}

// recorder is used in place of a testing.TB. It records failures, and does not fail the real test.
type recorder struct {
	testing.TB
	failures []string
	cleanups []func()
}

// failures runs a test and its cleanups with a recorder, and returns the failures.
func failures(t *testing.T, test func(t testing.TB)) []string {
	t.Helper()
	browser(t) // a recorder cannot be skipped, so skip the real test here if the browser is missing
	r := &recorder{TB: t}
	ended := make(chan struct{})
	go func() { // Fatal ends only this goroutine
		defer close(ended)
		defer r.end()
		test(r)
	}()
	<-ended
	return r.failures
}

func (r *recorder) end() {
	for len(r.cleanups) > 0 {
		last := len(r.cleanups) - 1
		f := r.cleanups[last]
		r.cleanups = r.cleanups[:last]
		f()
	}
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Failed() bool     { return len(r.failures) > 0 }

func (r *recorder) Error(args ...any)                 { r.failures = append(r.failures, fmt.Sprint(args...)) }
func (r *recorder) Errorf(format string, args ...any) { r.Error(fmt.Sprintf(format, args...)) }

func (r *recorder) Fatal(args ...any) {
	r.Error(args...)
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) { r.Fatal(fmt.Sprintf(format, args...)) }

// fails checks the failures in got. There must be one failure for each of parts, in this order, and each
// failure must contain its part.
func fails(t *testing.T, got []string, parts ...string) {
	t.Helper()
	ok := len(got) == len(parts)
	for i := 0; ok && i < len(parts); i++ {
		ok = strings.Contains(got[i], parts[i])
	}
	if !ok {
		t.Errorf("failed by %q, want %q", got, parts)
	}
}
