package testproc

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/app"
	"github.com/alds-dev/alds/internal/app/embedded"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

var cheapPasswords = sync.OnceFunc(auth.ForTests)

// Serve runs the service in the process of the test, on an empty database, until the test ends. For the
// dialect "sqlite" it runs standalone. For "mysql" it runs the roles api, worker and scheduler with Redis.
// It returns the URL of the instance. env has further settings, such as ALDS_ADMIN_PASSWORD.
func Serve(t *testing.T, dialect string, env map[string]string) (base string) {
	t.Helper()
	cheapPasswords()
	addr := FreeAddr(t)
	settings := map[string]string{
		"ALDS_ADDR":       addr,
		"ALDS_SECRET_KEY": strings.Repeat("A", 43) + "=",
		"ALDS_DATA_DIR":   t.TempDir(),
		"ALDS_LOG_LEVEL":  "warn", // at the level info each request would log a line
	}
	roles := []app.Role{app.StandaloneWith(embedded.Start)}
	if dialect == "mysql" {
		settings["REDIS_URL"] = testdb.Redis(t)
		settings["ALDS_DB_CONNS"] = "16" // many tests share the server
		roles = []app.Role{app.API, app.Worker, app.Scheduler}
	}
	maps.Copy(settings, env)
	if settings["DATABASE_URL"] == "" {
		settings["DATABASE_URL"] = newDatabase(t, dialect)
	}
	log := &Log{}
	environment := app.Environment{Getenv: func(name string) string { return settings[name] }, Stderr: log}
	if err := migrate(t.Context(), settings, environment, roles...); err != nil {
		t.Fatalf("migrate: %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	running, over := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		defer over()
		ended <- app.Run(ctx, environment, roles...)
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

// newDatabase returns the URL of a new database. On a server the database already has all tables. A SQLite
// database has no tables, because migrate copies a whole file.
func newDatabase(t *testing.T, dialect string) string {
	t.Helper()
	if dialect == "mysql" {
		return testdb.URL(t, dialect)
	}
	return testdb.EmptyURL(t, dialect)
}

// migrated has the contents of migrated SQLite files. The key stands for the settings with which they were
// migrated.
var migrated struct {
	sync.Mutex
	files map[string][]byte
}

// migrate does what the command migrate does. If the test process has already migrated a SQLite file with
// the same settings, it copies that file instead.
func migrate(ctx context.Context, settings map[string]string, e app.Environment, roles ...app.Role) error {
	do := func() error { return app.Migrate(ctx, e, roles...) }
	file, isFile := strings.CutPrefix(settings["DATABASE_URL"], "sqlite:")
	if _, err := os.Stat(file); !isFile || err == nil {
		return do()
	}
	same := maps.Clone(settings)
	for _, own := range []string{"DATABASE_URL", "ALDS_ADDR", "ALDS_DATA_DIR"} {
		delete(same, own)
	}
	key := fmt.Sprint(same)
	migrated.Lock()
	defer migrated.Unlock()
	if b := migrated.files[key]; b != nil {
		return os.WriteFile(file, b, 0o600)
	}
	if err := do(); err != nil {
		return err
	}
	if _, err := os.Stat(file + "-wal"); err == nil {
		return nil // do not keep it: a part of the database is still in the file that ends in -wal
	}
	b, err := os.ReadFile(file) //nolint:gosec // a file of the test
	if migrated.files == nil {
		migrated.files = map[string][]byte{}
	}
	migrated.files[key] = b
	return err
}

// ServeWithToken is like Serve, and also creates an access token of the administrator. It calls the
// function behind the command, because starting the command takes longer than many tests. Package doctest
// tests the command itself.
func ServeWithToken(t *testing.T, dialect string, env map[string]string) (base, token string) {
	t.Helper()
	settings := maps.Clone(env)
	if settings["DATABASE_URL"] == "" {
		settings["DATABASE_URL"] = newDatabase(t, dialect)
	}
	base = Serve(t, dialect, settings)
	d, err := db.Open(t.Context(), settings["DATABASE_URL"], db.Options{MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	logins, err := auth.New(d.Lookup(), meta.Default(), auth.Options{})
	if err == nil {
		token, err = logins.CreateToken(t.Context(), "admin", auth.TokenOptions{Name: "test"})
	}
	if err != nil {
		t.Fatalf("make a token: %v", err)
	}
	return base, token
}
