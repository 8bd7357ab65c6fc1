package spectest

import (
	"os"
	"os/exec"
	"strings"
	"testing"

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

// startService runs the whole service in this process until the test ends. It
// returns the base URL and an access token of Member:20.
func startService(t *testing.T, dialect string) (base, token string) {
	t.Helper()
	env := map[string]string{
		"ALDS_ADMIN_PASSWORD":         adminPassword,
		"ALDS_SECRET_KEY":             strings.Repeat("A", 43) + "=",
		"ALDS_WEBHOOK_ALLOW_PRIVATE":  "1",
		"ALDS_WEBHOOK_RETRY_SCHEDULE": "5ms,5ms",
		"DATABASE_URL":                testdb.EmptyURL(t, dialect),
	}
	base = testproc.Serve(t, dialect, env)
	cmd := exec.CommandContext(t.Context(), "go", "run", "../../cmd/api", "token", "create", "--member", "admin", "--name", "spec")
	cmd.Env = append(os.Environ(), "REDIS_URL=redis://127.0.0.1:6379/0")
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("token create: %v", err)
	}
	return base, strings.TrimSpace(string(out))
}
