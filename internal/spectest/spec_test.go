package spectest

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/app"
	"github.com/alds-dev/alds/internal/testdb"
	"github.com/alds-dev/alds/internal/testproc"
)

func TestMain(m *testing.M) { testdb.Main(m) }

const adminPassword = "the spec's own password"

// TestSpec runs every case on every database.
func TestSpec(t *testing.T) {
	cases := loadCases(t)
	for _, dialect := range []string{"mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			base, token := startService(t, dialect)
			for _, c := range cases {
				t.Run(c.file, func(t *testing.T) { runCase(t, base, token, c) })
			}
		})
	}
}

// startService runs the whole service in this process until the test ends: the
// three roles on MySQL and Redis, or standalone on its embedded parts. It
// returns the base URL and an access token of Member:20.
func startService(t *testing.T, dialect string) (base, token string) {
	t.Helper()
	addr := testproc.FreeAddr(t)
	env := map[string]string{
		"ALDS_ADDR":                   addr,
		"ALDS_ADMIN_PASSWORD":         adminPassword,
		"ALDS_SECRET_KEY":             strings.Repeat("A", 43) + "=",
		"ALDS_WEBHOOK_ALLOW_PRIVATE":  "1",
		"ALDS_WEBHOOK_RETRY_SCHEDULE": "5ms,5ms",
		"ALDS_DATA_DIR":               t.TempDir(),
		"DATABASE_URL":                testdb.EmptyURL(t, dialect),
	}
	roles := []app.Role{app.Standalone}
	if dialect == "mysql" {
		env["REDIS_URL"] = testdb.Redis(t)
		roles = []app.Role{app.API, app.Worker, app.Scheduler}
	}
	getenv := func(name string) string { return env[name] }
	log := &tail{}
	if err := app.Migrate(t.Context(), getenv, log, roles...); err != nil {
		t.Fatalf("migrate: %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx, getenv, log, roles...) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the service ended with: %v", err)
		}
		if t.Failed() {
			t.Logf("the end of the service's log:\n%s", log)
		}
	})
	base = "http://" + addr + "/alds"
	waitUntilAnswering(t, base, ended)
	cmd := exec.CommandContext(ctx, "go", "run", "../../cmd/api", "token", "create", "--member", "admin", "--name", "spec")
	cmd.Env = os.Environ()
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	if env["REDIS_URL"] == "" {
		cmd.Env = append(cmd.Env, "REDIS_URL=redis://127.0.0.1:6379/0")
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("token create: %v", err)
	}
	return base, strings.TrimSpace(string(out))
}

func waitUntilAnswering(t *testing.T, base string, ended chan error) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		if res, err := http.Get(base); err == nil {
			res.Body.Close()
			return
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("the service did not start: %v", err)
		case <-tick.C:
		}
	}
	t.Fatal("the service does not answer")
}

// tail keeps the last lines of a log that say more than that a request was
// answered. Several goroutines write it.
type tail struct {
	mu    sync.Mutex
	lines []string
}

// maxLogLines is how many lines of a log a failure shows.
const maxLogLines = 60

func (l *tail) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if bytes.Contains(b, []byte(`"level":"INFO"`)) {
		return len(b), nil // one for each request: the case tells what it asked
	}
	l.lines = append(l.lines, string(b))
	l.lines = l.lines[max(0, len(l.lines)-maxLogLines):]
	return len(b), nil
}

func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "")
}
