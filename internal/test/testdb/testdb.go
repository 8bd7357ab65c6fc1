package testdb

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	schema "github.com/alds-dev/alds/sql"
)

// Each runs the function test twice, as the subtests "mysql" and "sqlite". Every subtest gets an empty
// migrated database.
func Each(t *testing.T, test func(t *testing.T, d *db.DB)) {
	t.Helper()
	t.Run("mysql", func(t *testing.T) { test(t, MySQL(t)) })
	t.Run("sqlite", func(t *testing.T) { test(t, SQLite(t)) })
}

// pool has the databases that this test binary has created on the MySQL or MariaDB server.
var pool struct {
	sync.Mutex
	free []*database
	all  []*database
}

type database struct {
	name string
	db   *db.DB
}

// MySQL returns an empty migrated database on the MariaDB or MySQL server, for this test.
func MySQL(t testing.TB) *db.DB {
	t.Helper()
	server := mysqlServer(t)
	d := unused()
	if d == nil {
		d = create(t, server)
		pool.Lock()
		pool.all = append(pool.all, d)
		pool.Unlock()
	} else if err := empty(d.db); err != nil {
		t.Fatalf("empty the test database: %v", err)
	}
	t.Cleanup(func() {
		pool.Lock()
		defer pool.Unlock()
		pool.free = append(pool.free, d)
	})
	return d.db
}

// unused takes a free database out of the pool and returns it. It returns nil if there is none.
func unused() *database {
	pool.Lock()
	defer pool.Unlock()
	n := len(pool.free)
	if n == 0 {
		return nil
	}
	d := pool.free[n-1]
	pool.free = pool.free[:n-1]
	return d
}

// SQLite returns an empty migrated SQLite database in its own file.
func SQLite(t testing.TB) *db.DB {
	t.Helper()
	return open(t, URL(t, "sqlite"))
}

// URL returns the DATABASE_URL of a new migrated database, for a test that opens the database itself.
// dialect is "mysql" or "sqlite".
func URL(t testing.TB, dialect string) string {
	t.Helper()
	if dialect == "sqlite" {
		file := filepath.Join(t.TempDir(), "test.db")
		migratedFile(t, file)
		return "sqlite:" + file
	}
	server := mysqlServer(t)
	name := server.create(t)
	t.Cleanup(func() { server.drop(name) })
	server.copyTemplate(t, name)
	return server.url(name)
}

// EmptyURL is like URL, but the database has no tables.
func EmptyURL(t testing.TB, dialect string) string {
	t.Helper()
	if dialect == "sqlite" {
		return "sqlite:" + filepath.Join(t.TempDir(), "test.db")
	}
	server := mysqlServer(t)
	name := server.create(t)
	t.Cleanup(func() { server.drop(name) })
	return server.url(name)
}

func create(t testing.TB, s *server) *database {
	t.Helper()
	name := s.create(t)
	s.copyTemplate(t, name)
	d, err := db.Open(context.Background(), s.url(name), db.Options{MaxConns: 16})
	if err != nil {
		t.Fatal(err)
	}
	return &database{name: name, db: d}
}

func open(t testing.TB, url string) *db.DB {
	t.Helper()
	d, err := db.Open(context.Background(), url, db.Options{MaxConns: 16})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	if err := d.Migrate(context.Background()); err != nil {
		t.Fatal(err)
	}
	return d
}

// empty deletes all rows and inserts the rows that the migrations insert.
func empty(d *db.DB) error {
	ctx := context.Background()
	steps, err := schema.Migrations(d.Dialect.Name)
	if err != nil {
		return err
	}
	var all []string
	left := tables(steps)
	for _, table := range left {
		all = append(all, "DELETE FROM "+table+" WHERE 1 = 1") // the rules of Judged require a condition
	}
	for _, s := range steps {
		if _, into, ok := strings.Cut(s.Text, "INTO "); ok && strings.HasPrefix(s.Text, "INSERT ") {
			if table, _, _ := strings.Cut(into, " "); slices.Contains(left, table) {
				all = append(all, s.Text)
			}
		}
	}
	return d.Write(ctx, func(tx *db.Tx) error {
		for _, text := range all {
			if _, err := tx.Exec(ctx, text); err != nil {
				return fmt.Errorf("%.60s: %w", text, err)
			}
		}
		return nil
	})
}

// tables returns the names, in quotes, of the tables that exist after the migrations. The table that lists
// the migrations is not among them.
func tables(steps []schema.Migration) []string {
	var all []string
	for _, s := range steps {
		text := strings.TrimSuffix(s.Text, ";")
		if table, ok := strings.CutPrefix(text, "CREATE TABLE IF NOT EXISTS "); ok {
			if table, _, _ = strings.Cut(table, " "); !strings.Contains(table, "schema_migration") {
				all = append(all, table)
			}
		}
		if table, ok := strings.CutPrefix(text, "DROP TABLE IF EXISTS "); ok {
			all = slices.DeleteFunc(all, func(t string) bool { return t == table })
		}
		if was, is, ok := strings.Cut(strings.TrimPrefix(text, "ALTER TABLE "), " RENAME TO "); ok {
			all[slices.Index(all, was)] = is
		}
	}
	return all
}

// Main runs the tests of a package and drops their databases. Call it from TestMain.
func Main(m *testing.M) { os.Exit(Run(m)) }

// Run is like Main, for a TestMain that has more to clean up. The caller must exit with the returned code.
func Run(m *testing.M) int {
	defer dropAll()
	code := m.Run()
	if *printed && local.server != nil {
		for _, s := range local.server.recorder.Statements() {
			fmt.Printf("%6d  %s\n", s.Times, s.Text)
		}
	}
	return code
}

// If printed is set, Run prints the recorded statements.
var printed = flag.Bool("testdb.statements", false, "print each distinct statement that was sent to MySQL or MariaDB, and how often")

// Judged is like Main, for a package whose tests send most of the statements that alds sends to a server.
// It fails if a statement breaks a rule. own are statements that only the tests send.
func Judged(m *testing.M, own ...string) {
	code := Run(m)
	if local.server != nil && code == 0 {
		for _, broken := range local.server.recorder.Broken(false, own...) {
			fmt.Println("a statement breaks a rule of internal/test/testdb: " + broken)
			code = 1
		}
	}
	os.Exit(code)
}

func dropAll() {
	pool.Lock()
	defer pool.Unlock()
	for _, d := range pool.all {
		_ = d.db.Close()
		if local.err == nil && local.server != nil {
			local.server.drop(d.name)
		}
	}
}
