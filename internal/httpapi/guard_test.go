package httpapi

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/limits/admission"
	"github.com/alds-dev/alds/internal/limits/inbound"
	"github.com/alds-dev/alds/internal/limits/memory"
)

// TestAmbiguousRequests sends requests that two servers may read differently. The server must
// refuse each of them and close the connection. Neither the answer nor the log may contain
// parts of the request. Source: RFC 9112, sections 2 to 7; RFC 9110, sections 5 and 7.
func TestAmbiguousRequests(t *testing.T) {
	const marker = "c2VjcmV0LW1hcmtlcg=="
	head := "POST /alds/api/asset HTTP/1.1\r\nHost: x\r\nAuthorization: Basic " + marker + "\r\n"
	for name, c := range map[string]struct {
		raw  string
		want int
	}{
		"two lengths":                {head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400},
		"two equal lengths":          {head + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", 400},
		"a list of lengths":          {head + "Content-Length: 2, 2\r\n\r\n{}", 400},
		"a length and chunks":        {head + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
		"chunks and a length":        {head + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n", 400},
		"an unknown encoding":        {head + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 400},
		"two encodings":              {head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n", 400},
		"a list of encodings":        {head + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400},
		"a folded encoding":          {head + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", 400},
		"a folded header":            {head + "X-A: 1\r\n 2\r\n\r\n", 400},
		"NUL in a header":            {head + "X-A: 1\x002\r\n\r\n", 400},
		"CR in a header":             {head + "X-A: 1\r2\r\n\r\n", 400},
		"NUL in credentials":         {"GET /alds/query.v1 HTTP/1.1\r\nHost: x\r\nAuthorization: Basic " + marker + "\x00\r\n\r\n", 400},
		"a line without a colon":     {head + "nonsense\r\n\r\n", 400},
		"a space before the colon":   {head + "Content-Length : 2\r\n\r\n{}", 400},
		"no name":                    {head + ": 2\r\n\r\n", 400},
		"LF in a chunk's extension":  {"POST /alds/api/asset HTTP/1.1\r\nHost: x\r\nAuthorization: Basic YWRtaW46YTpi\r\nTransfer-Encoding: chunked\r\n\r\n2;x\n{}\r\n0\r\n\r\n", 400},
		"a chunk longer than said":   {"POST /alds/api/asset HTTP/1.1\r\nHost: x\r\nAuthorization: Basic YWRtaW46YTpi\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n", 400},
		"a chunk size that is none":  {"POST /alds/api/asset HTTP/1.1\r\nHost: x\r\nAuthorization: Basic YWRtaW46YTpi\r\nTransfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n", 400},
		"chunks in HTTP/1.0":         {"POST /alds/api/asset HTTP/1.0\r\nHost: x\r\nAuthorization: Basic " + marker + "\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
		"a negative length":          {head + "Content-Length: -1\r\n\r\n", 400},
		"a length with a sign":       {head + "Content-Length: +2\r\n\r\n{}", 400},
		"a length that is too large": {head + "Content-Length: 99999999999999999999\r\n\r\n{}", 400},
		"no host":                    {"GET /alds/query.v1 HTTP/1.1\r\nAuthorization: Basic " + marker + "\r\n\r\n", 400},
		"two hosts":                  {head + "Host: y\r\n\r\n", 400},
		"no version":                 {"GET /alds/query.v1\r\nAuthorization: Basic " + marker + "\r\n\r\n", 400},
		"another protocol":           {"GET /alds/query.v1 HTTPS/9.1\r\nHost: x\r\nAuthorization: Basic " + marker + "\r\n\r\n", 400},
		"a long line":                {"GET /alds/query.v1?" + strings.Repeat("x", maxHeader) + " HTTP/1.1\r\nHost: x\r\nAuthorization: Basic " + marker + "\r\n\r\n", 431},
		"many headers":               {head + strings.Repeat("X-A: 1\r\n", maxHeader/8) + "\r\n", 431},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			a := newAPI(engines{}, &log)
			url, served := listening(t, a)
			answer, status := sendRaw(t, url, c.raw)
			if status != c.want {
				t.Errorf("status %d, want %d: %s", status, c.want, answer)
			}
			if err := a.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := <-served; err != nil {
				t.Error(err)
			}
			for where, text := range map[string]string{"answer": answer, "log": log.String()} {
				if strings.Contains(text, marker) || strings.Contains(text, "YWRtaW46YTpi") {
					t.Errorf("the %s shows the credentials: %s", where, text)
				}
			}
		})
	}
}

// sendRaw sends text unchanged and reads until the server closes the connection, which it must
// do within seconds.
func sendRaw(t *testing.T, url, text string) (answer string, status int) {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(2 * time.Minute))
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(c)
	if err != nil {
		t.Errorf("the connection does not end: %v", err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(all)), nil)
	if err != nil {
		t.Fatalf("no answer: %q", all)
	}
	defer resp.Body.Close()
	return string(all), resp.StatusCode
}

// TestCrossSiteWrites sends requests as a browser sends them for pages of this site and of other
// sites.
func TestCrossSiteWrites(t *testing.T) {
	a := New(fixed(Engines{Credentials: engines{}, Bulk: engines{}, Queries: engines{}, Webhooks: engines{}, Audit: engines{}}),
		Options{Instance: "alds", Public: "https://alds.example.org/alds", Log: newAPI(engines{}, io.Discard).log})
	const js, text, form = "application/json", "text/plain;charset=UTF-8", "application/x-www-form-urlencoded"
	for _, c := range []struct {
		path, media, origin, site string
		want                      int
	}{
		{"api/asset", js, "", "", 200},
		{"api/asset", "", "", "", 200},
		{"api/asset", form, "", "", 200}, // curl -d
		{"api/asset", js, "https://evil.example.com", "cross-site", 403},
		{"api/asset", js, "https://evil.example.com", "", 403},
		{"api/asset", js, "null", "", 403},
		{"api/asset", js, "", "cross-site", 403},
		{"api/asset", js, "https://other.example.org", "same-site", 403},
		{"api/asset", js, "http://example.com", "same-origin", 200}, // the origin is the Host of the request
		{"api/asset", js, "https://alds.example.org", "same-origin", 200},
		{"api/asset", js, "http://alds.example.org", "", 403},
		{"api/asset", js, "", "none", 200},
		{"api/asset", text, "https://alds.example.org", "same-origin", 403},
		{"api/asset", form, "", "same-origin", 403},
		{"api/asset", "multipart/form-data; boundary=x", "http://example.com", "", 403},
		{"api/asset", "", "http://example.com", "", 403},
		{"rest-1.v1/Data/Story", js, "https://evil.example.com", "", 403},
		{"api/webhook", js, "https://evil.example.com", "", 403},
		{"api/webhook/delete/x", "", "https://evil.example.com", "", 403},
		{"query.v1", js, "https://evil.example.com", "cross-site", 200}, // a query only reads
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://example.com/alds/"+c.path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.SetBasicAuth("admin", "a:b")
		for name, value := range map[string]string{"Content-Type": c.media, "Origin": c.origin, "Sec-Fetch-Site": c.site} {
			if value != "" {
				req.Header.Set(name, value)
			}
		}
		resp, err := a.app.Test(req, -1)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Close(); resp.StatusCode != c.want && (c.want == http.StatusForbidden || resp.StatusCode == http.StatusForbidden) {
			t.Errorf("%+v: %d", c, resp.StatusCode)
		}
	}
}

// TestHostsOfLoopback checks that a service on loopback answers only requests for its own
// names. A web page whose host name resolves to loopback can then neither read nor write.
func TestHostsOfLoopback(t *testing.T) {
	a := newAPI(engines{}, io.Discard)
	a.loopback, a.origin = true, "https://alds.example.org"
	for host, want := range map[string]int{
		"localhost": 200, "LOCALHOST:8080": 200, "localhost.": 200, "alds.localhost:8080": 200, "127.0.0.1:8080": 200, "127.1.2.3": 200,
		"[::1]:8080": 200, "[::1]": 200, "[::ffff:127.0.0.1]": 200, "alds.example.org": 200, "alds.example.org:443": 200,
		"evil.example.com": 403, "evil.example.com:8080": 403, "localhost.example.com": 403, "127.0.0.1.example.com": 403, "192.0.2.1:8080": 403, "notlocalhost": 403,
	} {
		for _, r := range []*http.Request{httptest.NewRequest(http.MethodPost, "/alds/api/asset", strings.NewReader("{}")), httptest.NewRequest(http.MethodGet, "/alds/rest-1.v1/Data/Story", nil)} {
			r.Host = host
			r.SetBasicAuth("admin", "a:b")
			resp, err := a.app.Test(r, -1)
			if err != nil {
				t.Fatal(err)
			}
			if resp.Body.Close(); resp.StatusCode != want {
				t.Errorf("%s for %s: %d, want %d", r.Method, host, resp.StatusCode, want)
			}
		}
	}
}

// TestSlowBodies sends a body that never ends.
func TestSlowBodies(t *testing.T) {
	a := newAPI(engines{}, io.Discard)
	a.bodyGrace = 100 * time.Millisecond
	url, _ := listening(t, a)
	answer, status := sendRaw(t, url, "POST /alds/api/asset HTTP/1.1\r\nHost: x\r\nAuthorization: Basic YWRtaW46YTpi\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{")
	if status != http.StatusRequestTimeout {
		t.Errorf("status %d: %s", status, answer)
	}
}

// TestMemoryBudget sends requests that need more memory than the budget has.
func TestMemoryBudget(t *testing.T) {
	e := engines{entered: make(chan struct{}), leave: make(chan struct{})}
	a := newAPI(e, io.Discard)
	a.maxBody = 1 << 20
	url, _ := listening(t, a)
	send := func(body string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/alds/api/asset", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.SetBasicAuth("admin", "a:b")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Error(err)
			return 0
		}
		defer resp.Body.Close()
		if resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") == "" {
			t.Error("503 without Retry-After")
		}
		return resp.StatusCode
	}
	a.memory = memory.NewBudget(512 << 10)
	if got := send("[" + strings.Repeat("1,", 2000) + "1]"); got != http.StatusBadRequest {
		t.Errorf("many values: %d", got)
	}
	first := make(chan int)
	go func() { first <- send("[" + strings.Repeat("1,", 300) + "1]") }()
	<-e.entered
	if got := send("[" + strings.Repeat("1,", 300) + "1]"); got != http.StatusServiceUnavailable {
		t.Errorf("beside another: %d", got)
	}
	close(e.leave)
	if got := <-first; got != http.StatusOK {
		t.Errorf("the first: %d", got)
	}
	if used, _ := a.memory.Used(); used != 0 {
		t.Errorf("%d bytes were not given back", used)
	}
}

// TestSlotsOfAMember checks that a request is refused if all slots of its member are in use.
func TestSlotsOfAMember(t *testing.T) {
	e := engines{entered: make(chan struct{}), leave: make(chan struct{})}
	a := newAPI(e, io.Discard)
	a.members = admission.New(admission.Bounds{Running: 2, PerKey: 1})
	var paused []time.Duration
	a.pause = func(d time.Duration) { paused = append(paused, d) }
	ask := func() int {
		req := httptest.NewRequest(http.MethodGet, "/alds/rest-1.v1/Data/Story", http.NoBody)
		req.SetBasicAuth("admin", "a:b")
		resp, err := a.app.Test(req, -1)
		if err != nil {
			t.Error(err)
			return 0
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	first := make(chan int)
	go func() { first <- ask() }()
	<-e.entered
	if got := ask(); got != http.StatusServiceUnavailable {
		t.Errorf("beyond the member's share: %d", got)
	}
	if len(paused) != 1 || paused[0] > a.refusalDelay {
		t.Errorf("refused after pauses of %v, want one of %s at most", paused, a.refusalDelay)
	}
	close(e.leave)
	if got := <-first; got != http.StatusOK {
		t.Errorf("the first: %d", got)
	}
	if running, waiting := a.members.Load(); running != 0 || waiting != 0 {
		t.Errorf("%d run, %d wait", running, waiting)
	}
}

// TestClientsBehindAProxy checks that X-Forwarded-For is used only if a trusted proxy sends it.
func TestClientsBehindAProxy(t *testing.T) {
	for _, c := range []struct {
		trusted bool
		want    string
	}{{true, "203.0.113.9"}, {false, "127.0.0.1"}} {
		var log bytes.Buffer
		a := newAPI(engines{}, &log)
		if c.trusted {
			a.proxies = inbound.Proxies{netip.MustParsePrefix("127.0.0.1/32")}
		}
		url, served := listening(t, a)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/alds/rest-1.v1/Data/Story", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.SetBasicAuth("admin", "a:b")
		req.Header.Set("X-Forwarded-For", "6.6.6.6, 203.0.113.9")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		http.DefaultClient.CloseIdleConnections()
		if err := a.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		if !strings.Contains(log.String(), `"address":"`+c.want+`"`) {
			t.Errorf("want %s: %s", c.want, &log)
		}
	}
}

// TestSlotsOfLargeBodies checks that a request with a large body is refused if all slots for large
// bodies are in use. Requests with small bodies must not be refused. The bounds of this test allow
// no request to wait for a slot.
func TestSlotsOfLargeBodies(t *testing.T) {
	a := newAPI(engines{}, io.Discard)
	a.maxBody, a.refusalDelay = 2*largeRequest, 0
	a.large = admission.New(admission.Bounds{Running: 1, PerKey: 1})
	leave, err := a.large.Enter(t.Context(), "another")
	if err != nil {
		t.Fatal(err)
	}
	bodies := map[string]struct {
		body, encoding string
		large          bool
	}{
		"small":            {`{"from":"Story"}`, "", false},
		"large":            {`{"from":"` + strings.Repeat("a", largeRequest) + `"}`, "", true},
		"packed":           {"\x1f\x8b", "gzip", true},
		"YAML":             {"from: Story", "", false},
		"YAML and aliases": {"from: &a Story\nselect: [*a]", "", true},
		"no aliases":       {`{"from":"Story & *"}`, "", false},
	}
	ask := func(body, encoding string) int {
		req := httptest.NewRequest(http.MethodPost, "/alds/query.v1", strings.NewReader(body))
		req.SetBasicAuth("admin", "a:b")
		if encoding != "" {
			req.Header.Set("Content-Encoding", encoding)
		}
		resp, err := a.app.Test(req, -1)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	for name, c := range bodies {
		if got := ask(c.body, c.encoding); (got == http.StatusServiceUnavailable) != c.large {
			t.Errorf("%s: %d", name, got)
		}
	}
	leave()
	for name, c := range bodies {
		if got := ask(c.body, c.encoding); got == http.StatusServiceUnavailable {
			t.Errorf("%s, when nobody is there: %d", name, got)
		}
	}
	if running, _ := a.large.Load(); running != 0 {
		t.Errorf("%d places are still taken", running)
	}
}

// TestAnswersNobodyTakes checks that a client that does not read its answer holds no slot.
func TestAnswersNobodyTakes(t *testing.T) {
	a := newAPI(engines{}, io.Discard)
	a.maxBody = 64 << 20
	url, _ := listening(t, a)
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	body := "[" + strings.Repeat(" ", 32<<20) + "]" // the answer is as long, so it exceeds the buffers of sockets
	if _, err := fmt.Fprintf(c, "POST /alds/api/asset HTTP/1.1\r\nHost: x\r\nAuthorization: Basic %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		base64.StdEncoding.EncodeToString([]byte("admin:a:b")), len(body), body); err != nil {
		t.Fatal(err)
	}
	if head, err := bufio.NewReaderSize(c, 16).Peek(15); err != nil || string(head) != "HTTP/1.1 200 OK" {
		t.Fatalf("%q, %v", head, err)
	}
	large, _ := a.large.Load()
	running, _ := a.members.Load()
	if used, _ := a.memory.Used(); large != 0 || running != 0 || used == 0 {
		t.Errorf("while the answer is not taken: %d large requests, %d requests, %d bytes", large, running, used)
	}
}

// TestRefusalsHoldNothing sends two requests. Each gets the only slot for large bodies and is then
// refused. The second request must not wait until the first request is answered.
func TestRefusalsHoldNothing(t *testing.T) {
	a := newAPI(engines{}, io.Discard)
	a.maxBody = 2 * largeRequest
	a.large = admission.New(admission.Bounds{Running: 1, PerKey: 1, Line: 1})
	a.members = admission.New(admission.Bounds{})
	var pausing sync.WaitGroup
	pausing.Add(2)
	a.pause = func(time.Duration) { pausing.Done(); pausing.Wait() } // until both requests pause
	var asking sync.WaitGroup
	for range 2 {
		asking.Go(func() {
			req := httptest.NewRequest(http.MethodPost, "/alds/query.v1", strings.NewReader(strings.Repeat(" ", largeRequest+1)))
			req.SetBasicAuth("admin", "a:b")
			resp, err := a.app.Test(req, -1)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusServiceUnavailable {
				t.Errorf("answered %d", resp.StatusCode)
			}
		})
	}
	asking.Wait()
	if running, waiting := a.large.Load(); running != 0 || waiting != 0 {
		t.Errorf("%d run, %d wait", running, waiting)
	}
}

// TestRefusalAfterWaiting checks that the time for which a request waited for a slot counts
// towards refusalDelay.
func TestRefusalAfterWaiting(t *testing.T) {
	a := newAPI(engines{}, io.Discard)
	a.refusalDelay = 50 * time.Millisecond
	var paused []time.Duration
	a.pause = func(d time.Duration) { paused = append(paused, d) }
	a.members = admission.New(admission.Bounds{Line: 1, Wait: a.refusalDelay})
	req := httptest.NewRequest(http.MethodGet, "/alds/rest-1.v1/Data/Story", http.NoBody)
	req.SetBasicAuth("admin", "a:b")
	resp, err := a.app.Test(req, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable || len(paused) != 1 || paused[0] > 0 {
		t.Errorf("answered %d after further pauses of %v", resp.StatusCode, paused)
	}
}
