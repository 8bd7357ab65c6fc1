//go:build unix

package deploytest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testproc"
)

// Addresses of the two apis. Both use the same ports.
const left, right = "127.0.0.4", "127.0.0.5"

// site is an installation of two apis. The tests start proxies in front of them.
type site struct {
	t           *testing.T
	env         []string
	port, admin string
	apis        map[string]*testproc.Process
	log         *testproc.Log
}

func newSite(t *testing.T) *site {
	t.Helper()
	for _, address := range []string{left, right, neighbour} {
		testdb.Address(t, address)
	}
	s := &site{t: t, port: portOf(testproc.FreeAddr(t)), admin: portOf(testproc.FreeAddr(t)), apis: map[string]*testproc.Process{}, log: &testproc.Log{}}
	s.env = append(os.Environ(),
		"DATABASE_URL="+testdb.URL(t, "mysql"), "REDIS_URL="+testdb.Redis(t), "ALDS_SECRET_KEY="+strings.Repeat("A", 43)+"=",
		"ALDS_ADMIN_PASSWORD="+password, "ALDS_LOG_LEVEL=warn", "ALDS_DB_CONNS=12", "ALDS_TRUSTED_PROXIES=127.0.0.1", "ALDS_SHUTDOWN_DELAY=5s", "PORT=",
	)
	testproc.Start(t, testproc.Options{Env: s.env, Log: s.log}, "api", "migrate").Wait()
	s.start(left)
	s.start(right)
	return s
}

func portOf(addr string) string { return addr[strings.LastIndex(addr, ":")+1:] }

// start starts an api and waits until it is ready.
func (s *site) start(host string) {
	s.t.Helper()
	env := slices.Concat(s.env, []string{"ALDS_ADDR=" + net.JoinHostPort(host, s.port), "ALDS_ADMIN_ADDR=" + net.JoinHostPort(host, s.admin)})
	s.apis[host] = testproc.Start(s.t, testproc.Options{Env: env, Log: s.log}, "api")
	if !testproc.Becomes(s.t.Context(), "http://"+net.JoinHostPort(host, s.admin)+"/readyz", http.StatusOK) {
		s.t.Fatalf("the api at %s does not become ready\n%s", host, s.log)
	}
}

// front is a running proxy.
type front struct {
	proxy
	base, plain string // URLs of the instance with HTTPS and with HTTP
	client      http.Client
	authorities *x509.CertPool
}

// behind starts a proxy in front of the apis, with its file from deploy/proxies.
func (s *site) behind(t *testing.T, p proxy) *front {
	t.Helper()
	testdb.Runs(t, p.version...)
	secure, plain, dir := testproc.FreeAddr(t), testproc.FreeAddr(t), t.TempDir()
	c := testdb.NewCertificate(t, "127.0.0.1")
	both := filepath.Join(dir, "both.pem")
	write(t, both, read(t, c.Cert)+read(t, c.Key))
	text := strings.NewReplacer(append(p.replace(secure, plain),
		"10.0.0.11:8080", net.JoinHostPort(left, s.port), "10.0.0.12:8080", net.JoinHostPort(right, s.port), "port 9090", "port "+s.admin, "health_port 9090", "health_port "+s.admin,
		"/etc/ssl/alds/cert.pem", c.Cert, "/etc/ssl/alds/key.pem", c.Key, "/etc/ssl/alds/both.pem", both)...).Replace(read(t, "../../../deploy/proxies/"+p.file))
	file := filepath.Join(dir, "configuration")
	write(t, file, p.around(dir, text))
	cmd := exec.Command(p.run[0], append(p.run[1:len(p.run):len(p.run)], file)...) //nolint:gosec,noctx // the proxy, stopped below
	log := &testproc.Log{}
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, testdb.WithParent()
	cmd.Env, cmd.WaitDelay = append(os.Environ(), "HOME="+dir), testproc.AnswersIn
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)                          // also ends the worker processes of nginx
		time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() }) // Caddy would wait for open connections
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the end of the proxy's log:\n%s\nof the apis':\n%s", log, s.log)
		}
	})
	f := &front{proxy: p, base: "https://" + secure + "/alds", plain: "http://" + plain + "/alds", authorities: x509.NewCertPool()}
	f.authorities.AppendCertsFromPEM([]byte(read(t, c.CA)))
	f.client = *f.from("127.0.0.1")
	for until := time.Now().Add(testproc.AnswersIn); ; time.Sleep(20 * time.Millisecond) {
		if status, _, _ := f.ask(t.Context(), &f.client, http.MethodGet, "/api/webhook", "", nil); status == http.StatusUnauthorized || status == http.StatusOK {
			return f
		}
		if time.Now().After(until) {
			t.Fatal("the proxy does not answer")
		}
	}
}

// from returns a client whose connections come from the given IP address. The client follows no redirect.
func (f *front) from(address string) *http.Client {
	dial := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	return &http.Client{
		Transport: &http.Transport{
			DialContext: dial.DialContext, MaxIdleConnsPerHost: 8,
			TLSClientConfig: &tls.Config{RootCAs: f.authorities, MinVersion: tls.VersionTLS12},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// ask sends a request as the administrator. Entries of header replace default headers.
func (f *front) ask(ctx context.Context, c *http.Client, method, path, body string, header map[string]string) (status int, answer string, err error) {
	req, err := http.NewRequestWithContext(ctx, method, f.base+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.SetBasicAuth("admin", password)
	req.Header.Set("Content-Type", "application/json")
	for name, value := range header {
		req.Header.Set(name, value)
	}
	res, err := c.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, string(text), err
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
