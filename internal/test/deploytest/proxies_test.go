//go:build unix

package deploytest

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testproc"
)

// neighbour is the source address of another client of the proxy. The default client uses 127.0.0.1.
const neighbour = "127.0.0.3"

// proxy is a proxy of docs/proxies.md.
type proxy struct {
	name, file   string
	stranger     string // source address of a client that guesses passwords
	keepsRefusal bool   // true: the proxy holds back a refusal until the client has sent the whole body
	mayLose      int64  // most requests that may fail because their connection is closed while an api stops
	version, run []string
	// replace returns pairs of texts: an address in the file, and the address that replaces it.
	// secure and plain are the test's addresses for HTTPS and HTTP.
	replace func(secure, plain string) []string
	around  func(dir, text string) string // returns the text with settings that the test needs in addition
}

var proxies = []proxy{
	{
		name: "nginx", file: "nginx.conf", stranger: "127.0.0.2", mayLose: 2, version: []string{"nginx", "-v"}, run: []string{"nginx", "-c"},
		replace: func(secure, plain string) []string {
			return []string{"listen 443", "listen " + secure, "listen 80", "listen " + plain}
		},
		around: func(dir, text string) string {
			temporary := ""
			for _, of := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
				temporary += of + "_temp_path " + dir + ";\n"
			}
			return "daemon off; worker_processes 1; pid " + dir + "/pid; error_log stderr; events {}\nhttp {\naccess_log off;\n" + temporary + text + "}\n"
		},
	},
	{
		name: "HAProxy", file: "haproxy.cfg", stranger: "127.0.0.6", version: []string{"haproxy", "-v"}, run: []string{"haproxy", "-db", "-f"},
		replace: func(secure, plain string) []string {
			return []string{"bind :443", "bind " + secure, "bind :80", "bind " + plain}
		},
		around: func(_, text string) string { return text },
	},
	{
		name: "Caddy", file: "Caddyfile", stranger: "127.0.0.7", keepsRefusal: true, version: []string{"caddy", "version"}, run: []string{"caddy", "run", "--adapter", "caddyfile", "--config"},
		replace: func(secure, _ string) []string {
			return []string{"alds.example.org {", "https://" + secure + " {\n\tbind 127.0.0.1"}
		},
		around: func(dir, text string) string {
			return "{\n\tadmin off\n\tauto_https disable_redirects\n\tstorage file_system " + dir + "\n}\n" + text
		},
	},
}

// TestProxies checks what docs/proxies.md says about every proxy.
func TestProxies(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var fronts []*front
	for _, p := range proxies {
		f := s.behind(t, p)
		fronts = append(fronts, f)
		t.Run(p.name, func(t *testing.T) {
			if p.name != "Caddy" { // Caddy redirects on its own, but only at port 80
				f.redirects(t)
			}
			f.clientsHaveTheirAddress(t, p.stranger)
			f.bodiesPassAsTheyCome(t, p.keepsRefusal)
			f.answersPassAsTheyCome(t)
		})
	}
	s.isReplaced(fronts)
}

func (f *front) redirects(t *testing.T) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.plain+"/ui", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := f.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if to := res.Header.Get("Location"); res.StatusCode != http.StatusMovedPermanently || !strings.HasPrefix(to, "https://") {
		t.Errorf("plain HTTP is answered %d, to %q", res.StatusCode, to)
	}
}

// clientsHaveTheirAddress checks that wrong passwords slow down only the address that they come from.
// X-Forwarded-For from the client must have no effect. The audit must have the real address of the client.
func (f *front) clientsHaveTheirAddress(t *testing.T, stranger string) {
	t.Helper()
	attacker := f.from(stranger)
	var slowed atomic.Bool
	var all sync.WaitGroup
	for n := range 40 { // all at once, because passwords that come one after the other are delayed and not refused
		all.Go(func() {
			wrong := "Basic " + base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "admin:wrong %d", n))
			h := map[string]string{"Authorization": wrong, "X-Forwarded-For": fmt.Sprintf("192.0.2.%d", n)}
			if status, _, err := f.ask(t.Context(), attacker, http.MethodGet, "/api/webhook", "", h); err == nil && status == http.StatusTooManyRequests {
				slowed.Store(true)
			}
		})
	}
	all.Wait()
	if !slowed.Load() {
		t.Error("40 wrong passwords with 40 forged addresses from one client are not slowed down")
	}
	if status, answer, err := f.ask(t.Context(), f.from(neighbour), http.MethodGet, "/api/webhook", "", nil); status != http.StatusOK {
		t.Errorf("the same member from elsewhere is answered %d %v %s", status, err, answer)
	}
	for until := time.Now().Add(testproc.AnswersIn); ; time.Sleep(100 * time.Millisecond) {
		_, text, _ := f.ask(t.Context(), &f.client, http.MethodGet, "/api/audit?kind=SignInRefused&page=50", "", nil)
		if strings.Contains(text, `"192.0.2.`) {
			t.Fatalf("a forged address is in the audit: %s", text)
		}
		if strings.Contains(text, stranger) {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("the audit lacks %s: %s", stranger, text)
		}
	}
}

// bodiesPassAsTheyCome checks that a body of more than ten MiB is accepted. It also checks that a request
// without a login is refused before its body has arrived.
func (f *front) bodiesPassAsTheyCome(t *testing.T, keepsRefusal bool) {
	t.Helper()
	text := `{"AssetType": "Story", "Scope": "Scope:0", "Name": "large", "Description": "` + strings.Repeat("words ", 2<<20) + `"}`
	if status, answer, err := f.ask(t.Context(), &f.client, http.MethodPost, "/api/asset", "["+text+"]", nil); status != http.StatusOK || strings.Contains(answer, "ailed\":1") {
		t.Errorf("a body of %d MiB is answered %d %v %.300s", len(text)>>20, status, err, answer)
	}
	if keepsRefusal {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), testproc.AnswersIn)
	defer cancel()
	body, end := io.Pipe()
	defer end.Close()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.base+"/api/asset", body)
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = 60 << 20
	go func() { _, _ = end.Write([]byte(strings.Repeat(" ", 64<<10))) }() // the rest of the body never comes
	res, err := f.client.Do(req)
	if err != nil {
		t.Fatalf("a body that does not come, without login: %v", err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized {
		t.Errorf("a body that does not come, without login, is answered %d", res.StatusCode)
	}
}

// answersPassAsTheyCome checks that an event of the live feed reaches the client although the answer has
// not ended.
func (f *front) answersPassAsTheyCome(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testproc.AnswersIn)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.base+"/api/changes", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("admin", password)
	req.Header.Set("Accept", "text/event-stream")
	res, err := f.client.Do(req)
	if err != nil {
		t.Fatalf("the live feed: %v", err)
	}
	defer res.Body.Close()
	if status, answer, err := f.ask(ctx, &f.client, http.MethodPost, "/api/asset", `{"AssetType": "Story", "Scope": "Scope:0", "Name": "told at once"}`, nil); status != http.StatusOK {
		t.Fatalf("a story is answered %d %v %s", status, err, answer)
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "told at once") {
			return
		}
	}
	t.Errorf("the change did not come while the feed was open: %v", lines.Err())
}

// requests counts the requests of a load through one proxy.
type requests struct {
	answered, failed atomic.Int64
	last             atomic.Value // the last failure
}

// ask sends one request after another through a proxy, until ctx ends.
func (l *requests) ask(ctx context.Context, t *testing.T, f *front) {
	for ctx.Err() == nil {
		status, _, err := f.ask(t.Context(), &f.client, http.MethodPost, "/query.v1", `{"from": "Scope", "select": ["Name"]}`, nil)
		if status == http.StatusOK && err == nil {
			l.answered.Add(1)
			continue
		}
		l.failed.Add(1)
		l.last.Store(fmt.Sprint(status, err))
	}
}

// isReplaced stops one api and starts it again, while clients send requests. The other api must answer
// every request, except for the few that a proxy may lose.
func (s *site) isReplaced(fronts []*front) {
	s.t.Helper()
	ctx, stop := context.WithCancel(s.t.Context())
	defer stop()
	loads := make([]*requests, len(fronts))
	var all sync.WaitGroup
	for i, f := range fronts {
		loads[i] = &requests{}
		for range 4 {
			all.Go(func() { loads[i].ask(ctx, s.t, f) })
		}
	}
	moreOfAll := func() {
		for _, l := range loads {
			more(s.t, &l.answered, 20)
		}
	}
	moreOfAll()
	s.apis[left].Stop()
	if _, err := net.Dial("tcp", net.JoinHostPort(left, s.port)); err == nil {
		s.t.Error("the api that was ended still listens")
	}
	moreOfAll()
	s.start(left)
	moreOfAll()
	stop()
	all.Wait()
	for i, f := range fronts {
		if l := loads[i]; l.failed.Load() > f.mayLose {
			s.t.Errorf("%s: %d of %d requests failed while an api was replaced, the last with %v", f.name, l.failed.Load(), l.answered.Load()+l.failed.Load(), l.last.Load())
		}
	}
}

// more waits until n more requests have been answered.
func more(t *testing.T, answered *atomic.Int64, n int64) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for from, until := answered.Load(), time.Now().Add(testproc.AnswersIn); answered.Load() < from+n; <-tick.C {
		if time.Now().After(until) {
			t.Fatalf("%d requests answered in %s", answered.Load()-from, testproc.AnswersIn)
		}
	}
}
