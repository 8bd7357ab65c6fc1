package attack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m) }

const (
	adminPassword = "a password for attacks"
	attacker      = "127.0.0.2" // source address of the attacker's connections
	mib           = 1 << 20
)

// site is an installation under attack.
type site struct {
	t        *testing.T
	proc     *testproc.Process
	addr     string // host:port of the interface
	health   string // URL of /healthz
	command  string // command of the process; the same program also has the subcommand check
	env      []string
	database string // DATABASE_URL
	temp     string // folder for temporary files
	fewFiles int    // most file descriptors of the process; 0: no limit
	log      *wholeLog
	client   *http.Client // client of the administrator, whose address the attacker does not use
	opened   []net.Conn   // connections of the attacker
}

// setup has the options of newSite.
type setup struct {
	settings []string
	files    int    // most file descriptors of the process; 0: as many as the test process may have
	short    string // the only dialect that is tested with -short; empty: both dialects
}

// onEach runs a test twice: with standalone on SQLite, and with an api on MariaDB or MySQL.
func onEach(t *testing.T, o setup, test func(t *testing.T, s *site)) {
	t.Helper()
	beside(t)
	for _, dialect := range []string{"sqlite", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			if testing.Short() && o.short != "" && o.short != dialect {
				t.Skip("long tier only: the same on another database")
			}
			beside(t)
			test(t, newSite(t, dialect, o))
		})
	}
}

// beside lets a test run in parallel with other tests, but only with -short. Without -short, reads are
// timed, so nothing else may run.
func beside(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Parallel()
	}
}

// depth returns short with -short, and long otherwise.
func depth(short, long int) int {
	if testing.Short() {
		return short
	}
	return long
}

// timeout is ALDS_REQUEST_TIMEOUT. With -short it is so long that no request times out, even on a busy
// machine.
func timeout() time.Duration { return time.Duration(depth(300, 5)) * time.Second }

// newSite starts an installation on an empty database. dialect is "sqlite" or "mysql".
func newSite(t *testing.T, dialect string, o setup) *site {
	t.Helper()
	testdb.Address(t, attacker)
	health := testproc.FreeAddr(t)
	s := &site{
		t: t, addr: testproc.FreeAddr(t), health: "http://" + health + "/healthz", command: "standalone",
		log: &wholeLog{}, temp: t.TempDir(), client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{}},
	}
	dir := t.TempDir()
	s.env = append(os.Environ(), "ALDS_ADDR="+s.addr, "ALDS_ADMIN_ADDR="+health, "ALDS_ADMIN_PASSWORD="+adminPassword,
		"ALDS_DATA_DIR="+dir, "TMPDIR="+s.temp, "ALDS_REQUEST_TIMEOUT="+timeout().String(), "ALDS_LOG_LEVEL=warn")
	if dialect == "sqlite" {
		s.database = "sqlite:" + filepath.Join(dir, "alds.db")
	} else {
		s.command, s.database = "api", testdb.URL(t, dialect)
		s.env = append(s.env, "REDIS_URL="+testdb.Redis(t), "ALDS_SECRET_KEY="+strings.Repeat("A", 43)+"=")
	}
	s.env = append(s.env, "DATABASE_URL="+s.database)
	s.env = append(s.env, o.settings...)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of the log:\n%s", s.log.end())
		}
	})
	if s.command == "api" {
		testproc.Start(t, testproc.Options{Env: s.env, Log: s.log}, "api", "migrate").Wait()
	}
	s.fewFiles = o.files
	s.start()
	return s
}

// start starts the process and waits until it answers requests.
func (s *site) start() {
	s.t.Helper()
	s.proc = testproc.Start(s.t, testproc.Options{Env: s.env, Log: s.log, Files: s.fewFiles}, s.command)
	if !testproc.Becomes(s.t.Context(), s.url(""), 0) {
		s.t.Fatal("it does not answer")
	}
}

// again restarts the process with one more setting, such as "NAME=value".
func (s *site) again(setting string) {
	s.t.Helper()
	s.proc.Stop()
	s.env = append(s.env, setting)
	s.start()
}

func (s *site) url(path string) string { return "http://" + s.addr + "/alds" + path }

// sound runs the command check, which reads the whole database. The test fails if the command finds a
// fault.
func (s *site) sound() {
	s.t.Helper()
	testproc.Start(s.t, testproc.Options{Env: s.env, Log: s.log}, s.command, "check").Wait()
}

// post sends commands as the administrator and returns the Oids of the created assets. It ends the test if
// a command fails.
func (s *site) post(commands any) []string {
	s.t.Helper()
	text, err := json.Marshal(commands)
	if err != nil {
		s.t.Fatal(err)
	}
	status, answer, err := s.ask(s.t.Context(), s.client, "admin:"+adminPassword, http.MethodPost, "/api/asset", text)
	if err != nil || status != http.StatusOK {
		s.t.Fatalf("POST /api/asset: %d %.500s %v", status, answer, err)
	}
	var made struct {
		AssetsCreated struct {
			OIDTokens []string `json:"oidTokens"`
		} `json:"assetsCreated"`
		CommandFailures struct{ Count int } `json:"commandFailures"`
	}
	if err := json.Unmarshal(answer, &made); err != nil || made.CommandFailures.Count != 0 {
		s.t.Fatalf("POST /api/asset: %.500s %v", answer, err)
	}
	return made.AssetsCreated.OIDTokens
}

// ask sends a request as a member and returns the answer. who is "name:password".
func (s *site) ask(ctx context.Context, c *http.Client, who, method, path string, body []byte) (status int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, s.url(path), bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	name, password, _ := strings.Cut(who, ":")
	req.SetBasicAuth(name, password)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", accept(path))
	res, err := c.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(res.Body)
	return res.StatusCode, answer, err
}

// from returns a client whose connections come from the given IP address of this machine.
func from(address string) *http.Client {
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	return &http.Client{Transport: &http.Transport{DialContext: d.DialContext, MaxIdleConnsPerHost: 1000}}
}

// dial opens a connection from the address of the attacker.
func (s *site) dial() (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(attacker)}, Timeout: 5 * time.Second}
	return d.DialContext(s.t.Context(), "tcp", s.addr)
}

// member creates a member with the right to see everything. It returns "name:password".
func (s *site) member(name string) string {
	s.t.Helper()
	s.post([]any{person(name)})
	return name + ":" + passwordOf(name)
}

func passwordOf(name string) string { return "the password of " + name }

func person(name string) map[string]any {
	return map[string]any{"AssetType": "Member", "Name": name, "Nickname": name, "Username": name, "Password": passwordOf(name), "DefaultRole": "Role:1"}
}

// stories creates n stories in Scope:0 and returns their Oids. owners returns the owners of the i-th story.
// If owners is nil, the stories have no owners.
func (s *site) stories(n int, owners func(i int) []string) (made []string) {
	s.t.Helper()
	for begin := 0; begin < n; begin += 1000 {
		var all []any
		for i := begin; i < min(begin+1000, n); i++ {
			story := map[string]any{"AssetType": "Story", "Name": fmt.Sprintf("Story %d", i), "Scope": "Scope:0", "Estimate": i % 13}
			if owners != nil {
				story["Owners"] = owners(i)
			}
			all = append(all, story)
		}
		made = append(made, s.post(all)...)
	}
	return made
}

// wholeLog keeps the whole log of the process in memory.
type wholeLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *wholeLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *wholeLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *wholeLog) end() string {
	all := l.String()
	return all[max(0, len(all)-5000):]
}
