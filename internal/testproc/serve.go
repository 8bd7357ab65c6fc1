package testproc

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/app"
	"github.com/alds-dev/alds/internal/embedded"
	"github.com/alds-dev/alds/internal/testdb"
)

// Serve runs the service in this process until the test ends, on an empty database:
// standalone on "sqlite", its three roles on "mysql" and Redis. It returns the URL of
// the instance. env adds to the settings, such as ALDS_ADMIN_PASSWORD.
func Serve(t *testing.T, dialect string, env map[string]string) (base string) {
	t.Helper()
	addr := FreeAddr(t)
	settings := map[string]string{
		"ALDS_ADDR":       addr,
		"ALDS_SECRET_KEY": strings.Repeat("A", 43) + "=",
		"ALDS_DATA_DIR":   t.TempDir(),
		"ALDS_LOG_LEVEL":  "warn", // each request would be a line
	}
	roles := []app.Role{app.StandaloneWith(embedded.Start)}
	if dialect == "mysql" {
		settings["REDIS_URL"] = testdb.Redis(t)
		roles = []app.Role{app.API, app.Worker, app.Scheduler}
	}
	maps.Copy(settings, env)
	if settings["DATABASE_URL"] == "" {
		settings["DATABASE_URL"] = testdb.EmptyURL(t, dialect)
	}
	getenv := func(name string) string { return settings[name] }
	log := &Log{}
	if err := app.Migrate(t.Context(), getenv, log, roles...); err != nil {
		t.Fatalf("migrate: %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	running, over := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		defer over()
		ended <- app.Run(ctx, getenv, log, roles...)
	}()
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
	if !Becomes(running, base, 0) {
		t.Fatal("the service does not answer")
	}
	return base
}

// ServeWithToken does what Serve does, and makes an access token of the administrator
// as an operator does.
func ServeWithToken(t *testing.T, dialect string, env map[string]string) (base, token string) {
	t.Helper()
	settings := map[string]string{
		"ALDS_SECRET_KEY": strings.Repeat("A", 43) + "=",
		"DATABASE_URL":    testdb.EmptyURL(t, dialect),
	}
	maps.Copy(settings, env)
	base = Serve(t, dialect, settings)
	cmd := exec.CommandContext(t.Context(), "go", "run", filepath.Join(testdb.Root(t), "cmd", "api"), "token", "create", "--member", "admin", "--name", "test")
	cmd.Env = append(os.Environ(), "REDIS_URL=redis://127.0.0.1:6379/0")
	for name, value := range settings {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("token create: %v", err)
	}
	return base, strings.TrimSpace(string(out))
}
