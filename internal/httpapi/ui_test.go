package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/limits/admission"
	"github.com/alds-dev/alds/internal/limits/inbound"
	"github.com/alds-dev/alds/internal/query/find"
)

// withPages returns an API with pages that repeat the request. If the request has the header
// Inner, a method and a path, the page sends that request to the interface and returns the
// answer.
func withPages(e engines, log io.Writer, o Options) *API {
	o.Instance, o.MaxBody, o.Log = "alds", maxBody, slog.New(slog.NewJSONHandler(log, nil))
	o.Pages = func(api http.RoundTripper) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { askInner(api, w, r) })
	}
	return New(fixed(Engines{Credentials: e, Queries: e, Writes: e, Metadata: e}), o)
}

func askInner(api http.RoundTripper, w http.ResponseWriter, r *http.Request) {
	method, path, found := strings.Cut(r.Header.Get("Inner"), " ")
	if !found {
		form, err := io.ReadAll(r.Body)
		if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
			http.Error(w, fmt.Sprintf("page of at most %d bytes", large.Limit), http.StatusRequestEntityTooLarge)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "1"})
		http.SetCookie(w, &http.Cookie{Name: "b", Value: "2"})
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "page %s %s %s %s", r.Method, r.URL, r.RemoteAddr, form)
		return
	}
	inner, err := http.NewRequestWithContext(r.Context(), method, "http://x"+path, strings.NewReader(`{"from": "Story"}`))
	if err != nil {
		panic(err)
	}
	inner.Header.Set("Accept", "application/json")
	inner.Header.Set("Authorization", r.Header.Get("Authorization"))
	got, err := api.RoundTrip(inner)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		fmt.Fprint(w, err)
		return
	}
	defer got.Body.Close()
	body, _ := io.ReadAll(got.Body)
	fmt.Fprintf(w, "%d %s %s", got.StatusCode, got.Header.Get("Content-Type"), body)
}

func TestPagesAreRouted(t *testing.T) {
	var log bytes.Buffer
	a := withPages(engines{}, &log, Options{})
	for _, c := range []struct {
		method, path, accept string
		page                 bool
	}{
		{"GET", "/alds/ui", "", true},
		{"GET", "/alds/ui/", "", true},
		{"POST", "/ALDS//ui/sign-in", "", true},
		{"GET", "/alds/", "text/html,*/*", true},
		{"GET", "/", "text/html", true},
		{"GET", "/alds/assetdetail.v1?oid=Story:7", "text/html;q=0.9", true},
		{"GET", "/alds/meta.v1?xsl=api.xsl", "text/html", true},
		{"GET", "/alds/meta.v1/Story?xsl=api.xsl", "text/html", true},
		{"GET", "/alds/meta.v1", "text/html", false},
		{"GET", "/alds/meta.v1/Story", "text/html", false},
		{"GET", "/alds/meta.v1/Story?xsl=api.xsl", "*/*", false},
		{"GET", "/alds/meta.v1/Story/Name?xsl=api.xsl", "text/html", false},
		{"GET", "/alds/meta.v1?xsl=api.xsl", "text/xml", false},
		{"GET", "/alds/assetdetail.v1?oid=Story:7", "*/*", false},
		{"GET", "/alds/", "*/*", false},
		{"GET", "/", "", false},
		{"PUT", "/alds/ui/", "text/html", false},
		{"GET", "/alds/rest-1.v1/Data/Story", "text/html", false},
	} {
		resp, body := call(t, a, c.method, c.path, "", "Accept", c.accept, "Authorization", "")
		if got := strings.HasPrefix(body, "page "); got != c.page || got && resp.StatusCode != http.StatusTeapot {
			t.Errorf("%s %s for %q: a page: %v, %d %s", c.method, c.path, c.accept, got, resp.StatusCode, body)
		}
	}
}

// TestCredentialsInTheHeader checks that a browser that sends credentials gets the model and
// not the page, which would redirect to the sign-in.
func TestCredentialsInTheHeader(t *testing.T) {
	var log bytes.Buffer
	a := withPages(engines{}, &log, Options{})
	for _, path := range []string{"/alds/meta.v1?xsl=api.xsl", "/alds/meta.v1/Story?xsl=api.xsl"} {
		if resp, body := call(t, a, "GET", path, "", "Accept", "text/html,*/*"); resp.StatusCode != http.StatusOK || strings.HasPrefix(body, "page ") {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
}

func TestWhatPagesAreAsked(t *testing.T) {
	var log bytes.Buffer
	proxies := inbound.Proxies{netip.MustParsePrefix("0.0.0.0/32")}
	for _, c := range []struct {
		why, public, want string
		proxies           inbound.Proxies
	}{
		{why: "a stranger's word on the scheme", want: "page POST http://x/alds/ui/a%20b?q=%20 0.0.0.0 name=1"},
		{why: "the public URL", public: "https://x/alds", want: "page POST https://x/alds/ui/a%20b?q=%20 0.0.0.0 name=1"},
		{why: "a proxy's word", proxies: proxies, want: "page POST https://x/alds/ui/a%20b?q=%20 10.1.2.3 name=1"},
	} {
		a := withPages(engines{}, &log, Options{Public: c.public, Proxies: c.proxies})
		resp, body := call(t, a, "POST", "/alds/ui/a%20b?q=%20", "name=1", "X-Forwarded-Proto", "https", "X-Forwarded-For", "10.1.2.3")
		if body != c.want || len(resp.Header.Values("Set-Cookie")) != 2 || resp.Header.Get("Content-Type") != "text/html" || resp.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %s %v", c.why, body, resp.Header)
		}
	}
}

// TestInnerRequests checks that a request that a page sends is answered like any other request,
// with the rights of its credentials. This request and the request for the page are logged with the
// same id.
func TestInnerRequests(t *testing.T) {
	large := engines{stream: func(_ context.Context, flush find.Flush) ([]byte, error) {
		w, err := flush(bytes.Repeat([]byte("x"), 70<<10))
		return append(w, "end"...), err
	}}
	broken := engines{stream: func(_ context.Context, flush find.Flush) ([]byte, error) {
		if _, err := flush([]byte("begun")); err != nil {
			return nil, err
		}
		return nil, errors.New("out of order")
	}}
	for _, c := range []struct {
		why, inner, login, want string
		e                       engines
	}{
		{"a query", "POST /alds/query.v1", "Bearer 1.good", `200 application/json "rows of Story"`, engines{}},
		{"no credentials", "POST /alds/query.v1", "", "401 application/json", engines{}},
		{"a path that is not there", "GET /alds/nothing", "Bearer 1.good", "404 application/json", engines{}},
		{"a large answer", "GET /alds/rest-1.v1/Data/Story", "Bearer 1.good", "200 application/json " + strings.Repeat("x", 70<<10) + "end", large},
		{"an answer that breaks off", "GET /alds/rest-1.v1/Data/Story", "Bearer 1.good", "unexpected EOF", broken},
	} {
		t.Run(c.why, func(t *testing.T) {
			var log bytes.Buffer
			a := withPages(c.e, &log, Options{Running: 1, MemberRequests: 1})
			_, body := call(t, a, "GET", "/alds/ui/", "", "Inner", c.inner, "Authorization", c.login, "X-Request-Id", "r-1")
			if !strings.HasPrefix(body, c.want) {
				t.Errorf("%.200s", body)
			}
			if n := strings.Count(log.String(), `"request":"r-1"`); n < 2 {
				t.Errorf("%d lines of the request:\n%s", n, log.String())
			}
			if used, _ := a.memory.Used(); used != 0 {
				t.Errorf("%d bytes are still held", used)
			}
		})
	}
}

// TestForms checks the size limits of forms, which are lower without a session.
func TestForms(t *testing.T) {
	var log bytes.Buffer
	a := withPages(engines{}, &log, Options{})
	for _, c := range []struct {
		why, cookie  string
		size, status int
		want         string
	}{
		{"a stranger's", "", maxStrangersForm, http.StatusTeapot, "page POST"},
		{"a stranger's that is larger", "", maxStrangersForm + 1, http.StatusRequestEntityTooLarge, fmt.Sprintf("page of at most %d bytes\n", maxStrangersForm)},
		{"one with a session that is none", "1.bad", maxStrangersForm + 1, http.StatusRequestEntityTooLarge, "page of at most"},
		{"a member's", "1.good", maxForm, http.StatusTeapot, "page POST"},
		{"a member's that is larger", "1.good", maxForm + 1, http.StatusRequestEntityTooLarge, fmt.Sprintf("page of at most %d bytes\n", maxForm)},
	} {
		resp, body := call(t, a, "POST", "/alds/ui/", strings.Repeat("x", c.size), "Cookie", ticketName+"alds="+c.cookie)
		if resp.StatusCode != c.status || !strings.HasPrefix(body, c.want) {
			t.Errorf("%s: %d %.100s", c.why, resp.StatusCode, body)
		}
	}
}

func TestAHostThatIsNone(t *testing.T) {
	var log bytes.Buffer
	a := withPages(engines{}, &log, Options{})
	base, _ := listening(t, a)
	defer func() { _ = a.Shutdown(t.Context()) }()
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET /alds/ui/ HTTP/1.1\r\nHost: x@y\r\n\r\n")
	if line, _ := bufio.NewReader(conn).ReadString('\n'); !strings.Contains(line, "400") {
		t.Error(line)
	}
}

// TestSlowFormsHoldNoSlot checks that a client that sends a form slowly holds no slot for pages.
func TestSlowFormsHoldNoSlot(t *testing.T) {
	var log bytes.Buffer
	a := withPages(engines{}, &log, Options{})
	a.viewers = admission.New(admission.Bounds{Running: 1, PerKey: 1})
	base, _ := listening(t, a)
	defer func() { _ = a.Shutdown(t.Context()) }()
	slow, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	fmt.Fprint(slow, "POST /alds/ui/ HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 20000\r\n\r\n")
	// After 100 Continue, the server reads the body.
	if line, _ := bufio.NewReader(slow).ReadString('\n'); !strings.Contains(line, "100") {
		t.Fatal(line)
	}
	fmt.Fprint(slow, "x")
	resp, err := http.Get(base + "/alds/ui/")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusTeapot {
		t.Errorf("a page is answered with %d", resp.StatusCode)
	}
}

// TestPagesOfOneMember checks that a member who uses all of its slots for pages does not delay
// others of the same network.
func TestPagesOfOneMember(t *testing.T) {
	var log bytes.Buffer
	a := withPages(engines{}, &log, Options{})
	a.refusalDelay = 0
	a.readers = admission.New(admission.Bounds{Running: 2, PerKey: 1})
	who, err := a.login(t.Context(), "Bearer 1.good", "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	leave, err := a.readers.Enter(t.Context(), who.Member)
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	for _, c := range []struct {
		cookie string
		want   int
	}{{".V1.Ticket.alds=1.good", http.StatusServiceUnavailable}, {"", http.StatusTeapot}} {
		r, err := http.NewRequest(http.MethodGet, "http://x/alds/ui/", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Cookie", c.cookie)
		resp, err := a.app.Test(r, -1)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != c.want {
			t.Errorf("with the cookie %q: %d, want %d", c.cookie, resp.StatusCode, c.want)
		}
	}
}

// TestOtherMethodsOfPages checks that failures below ui have a Content-Security-Policy, too.
func TestOtherMethodsOfPages(t *testing.T) {
	var log bytes.Buffer
	a := withPages(engines{}, &log, Options{})
	for _, method := range []string{"PUT", "DELETE", "PATCH", "OPTIONS"} {
		for _, path := range []string{"/alds/ui", "/alds/ui/profile"} {
			resp, body := call(t, a, method, path, "", "Accept", "text/html")
			if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != "GET, HEAD, POST" || !strings.Contains(resp.Header.Get("Content-Security-Policy"), "default-src 'none'") {
				t.Errorf("%s %s: %d %v %s", method, path, resp.StatusCode, resp.Header, body)
			}
		}
	}
}
