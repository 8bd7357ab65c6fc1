package deploytest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testproc"
)

// The addresses of two apis. Both apis use the same ports, as two containers do.
const (
	one = "127.0.0.2"
	two = "127.0.0.3"
)

// behind is an installation whose apis run behind the proxy of docker-compose.yml.
type behind struct {
	t           *testing.T
	base        string // URL through the proxy
	port, admin string // ports that every api uses
	names       *names
	env         []string
	log         *testproc.Log
}

func newBehind(t *testing.T) *behind {
	t.Helper()
	testdb.Runs(t, "haproxy", "-v")
	testdb.Address(t, one)
	testdb.Address(t, two)
	b := &behind{t: t, port: testdb.Port(t), admin: testdb.Port(t), names: newNames(t, "api"), log: &testproc.Log{}}
	b.env = append(os.Environ(),
		"DATABASE_URL="+testdb.URL(t, "mysql"), "REDIS_URL="+testdb.Redis(t), "ALDS_SECRET_KEY="+strings.Repeat("A", 43)+"=",
		"ALDS_ADMIN_PASSWORD="+password, "ALDS_LOG_LEVEL=warn", "ALDS_DB_CONNS=12", "ALDS_TRUSTED_PROXIES=127.0.0.1", "ALDS_SHUTDOWN_DELAY=5s",
	)
	testproc.Start(t, testproc.Options{Env: b.env, Log: b.log}, "api", "migrate").Wait()
	at := testproc.FreeAddr(t)
	b.base = "http://" + at + "/alds"
	file := filepath.Join(t.TempDir(), "haproxy.cfg")
	if err := os.WriteFile(file, []byte(b.configuration(at)), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, root, nil, "haproxy", "-c", "-f", file)
	proxy := exec.Command("haproxy", "-db", "-f", file) //nolint:noctx // stopped below
	proxy.Stdout, proxy.Stderr, proxy.SysProcAttr = b.log, b.log, testdb.WithParent()
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = proxy.Process.Kill()
		_ = proxy.Wait()
		if t.Failed() {
			t.Logf("the ends of the logs:\n%s", b.log)
		}
	})
	return b
}

// configuration returns deploy/compose/haproxy.cfg with the addresses of the test.
func (b *behind) configuration(at string) string {
	b.t.Helper()
	file, err := os.ReadFile(filepath.Join(root, "deploy/compose/haproxy.cfg"))
	if err != nil {
		b.t.Fatal(err)
	}
	text := string(file)
	for _, c := range [][2]string{{"127.0.0.11:53", b.names.addr}, {"bind :8080", "bind " + at}, {"api:8080", "api:" + b.port}, {"port 9090", "port " + b.admin}} {
		if strings.Count(text, c[0]) != 1 {
			b.t.Fatalf("%s does not stand once in the configuration", c[0])
		}
		text = strings.Replace(text, c[0], c[1], 1)
	}
	return text
}

// start starts an api at the address host. Then it lets the DNS name resolve to hosts, which must include
// host.
func (b *behind) start(host string, hosts ...string) *testproc.Process {
	b.t.Helper()
	env := slices.Concat(b.env, []string{"ALDS_ADDR=" + host + ":" + b.port, "ALDS_ADMIN_ADDR=" + host + ":" + b.admin})
	p := testproc.Start(b.t, testproc.Options{Env: env, Log: b.log}, "api")
	if !testproc.Becomes(b.t.Context(), "http://"+host+":"+b.admin+"/readyz", http.StatusOK) {
		b.t.Fatalf("the api at %s does not become ready", host)
	}
	b.names.set(hosts...)
	return p
}

// takes waits until the api at host has received a request from the proxy.
func (b *behind) takes(host string) {
	b.t.Helper()
	for until := time.Now().Add(testproc.AnswersIn); time.Now().Before(until); <-time.After(20 * time.Millisecond) {
		if res, err := http.Get(b.base + "/api/webhook"); err == nil { //nolint:gosec,noctx // a service of the test
			_ = res.Body.Close()
		}
		res, err := http.Get("http://" + host + ":" + b.admin + "/metrics") //nolint:gosec,noctx // a service of the test
		if err != nil {
			continue
		}
		text, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if strings.Contains(string(text), "alds_httpapi_request_duration_seconds_count{") {
			return
		}
	}
	b.t.Fatalf("the api at %s gets no request", host)
}

// load counts the requests that several clients send.
type load struct {
	reads, writes             atomic.Int64 // answered requests
	failedReads, failedWrites atomic.Int64
	last                      atomic.Value // the last failure
}

const clients = 8

// during calls the function what while clients send requests. The clients also send some hundred requests
// before the call and after it.
func (b *behind) during(what func()) *load {
	b.t.Helper()
	l := &load{}
	ctx, stop := context.WithCancel(b.t.Context())
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if i%4 == 0 {
					l.send(b, http.MethodPost, "/api/asset", `{"AssetType": "Story", "Name": "Behind a proxy", "Scope": "Scope:0"}`, &l.writes, &l.failedWrites)
				} else {
					l.send(b, http.MethodGet, "/rest-1.v1/Data/Member/20?sel=Name", "", &l.reads, &l.failedReads)
				}
			}
		})
	}
	l.more(b, 200)
	what()
	l.more(b, 400)
	stop()
	all.Wait()
	return l
}

// more waits until n more requests have been answered.
func (l *load) more(b *behind, n int64) {
	b.t.Helper()
	begun := l.reads.Load() + l.writes.Load()
	for until := time.Now().Add(testproc.AnswersIn); l.reads.Load()+l.writes.Load() < begun+n; <-time.After(10 * time.Millisecond) {
		if time.Now().After(until) {
			b.t.Fatalf("requests do not go on: %v", l.last.Load())
		}
	}
}

func (l *load) send(b *behind, method, path, body string, answered, failed *atomic.Int64) {
	req, err := http.NewRequest(method, b.base+path, strings.NewReader(body)) //nolint:noctx // requests must finish
	if err != nil {
		panic(err)
	}
	req.SetBasicAuth("admin", password)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err == nil {
		_, err = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s %s: %s", method, path, res.Status)
		}
	}
	if err != nil {
		failed.Add(1)
		l.last.Store(err.Error())
		return
	}
	answered.Add(1)
}

func (l *load) String() string {
	return fmt.Sprintf("%d reads and %d writes answered, %d and %d failed, such as %v", l.reads.Load(), l.writes.Load(), l.failedReads.Load(), l.failedWrites.Load(), l.last.Load())
}

// TestProxy checks three cases. A new api must get requests. When an api is killed, only the writes that it
// was executing may fail, and no read. When an api is stopped, no request may fail.
func TestProxy(t *testing.T) {
	t.Parallel()
	b := newBehind(t)
	first := b.start(one, one)
	if !testproc.Becomes(t.Context(), b.base+"/api/webhook", http.StatusUnauthorized) {
		t.Fatal("the proxy does not lead to the api")
	}
	b.clientsHaveTheirAddress()
	second := b.start(two, one, two)
	b.takes(two)

	killed := b.during(first.Kill)
	t.Logf("one of two killed: %s", killed)
	if killed.failedReads.Load() > 0 || killed.failedWrites.Load() > clients {
		t.Errorf("one of two killed: %s", killed)
	}
	b.start(one, one, two)
	b.takes(one)
	ended := b.during(second.Stop)
	t.Logf("one of two ended: %s", ended)
	if ended.failedReads.Load()+ended.failedWrites.Load() > 0 {
		t.Errorf("one of two ended: %s", ended)
	}
	want := killed.writes.Load() + ended.writes.Load()
	if have := stories(t, b.base); have < want || have > want+killed.failedWrites.Load() {
		t.Errorf("%d stories were acknowledged, %d are there", want, have)
	}
}

func stories(t *testing.T, base string) int64 {
	t.Helper()
	return int64(strings.Count(ask(t, http.MethodPost, base+"/query.v1", `{"from": "Story", "select": ["Number"]}`), `"Story:`))
}

// clientsHaveTheirAddress checks that the audit has the real address of a client. It must have neither the
// address that the client claims nor the address of the proxy.
func (b *behind) clientsHaveTheirAddress() {
	b.t.Helper()
	const client = "127.0.0.9"
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(client)}}
	transport := &http.Transport{DialContext: dialer.DialContext}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.base+"/api/webhook", nil)
	if err != nil {
		b.t.Fatal(err)
	}
	req.SetBasicAuth("admin", "wrong")
	req.Header.Set("X-Forwarded-For", "203.0.113.5")
	res, err := transport.RoundTrip(req)
	if err != nil || res.StatusCode != http.StatusUnauthorized {
		b.t.Fatalf("%v %v", res, err)
	}
	_ = res.Body.Close()
	for until := time.Now().Add(testproc.AnswersIn); time.Now().Before(until); <-time.After(50 * time.Millisecond) {
		if audit := ask(b.t, http.MethodGet, b.base+"/api/audit", ""); strings.Contains(audit, client) {
			return
		}
	}
	b.t.Errorf("the audit has not %s: %s", client, ask(b.t, http.MethodGet, b.base+"/api/audit", ""))
}
