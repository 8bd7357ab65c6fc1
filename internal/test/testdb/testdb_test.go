package testdb

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
)

func TestMain(m *testing.M) { Main(m) }

func TestEachHandsOutEmptyDatabases(t *testing.T) {
	for range 2 { // the second time, MySQL returns the same database, which was emptied
		Each(t, func(t *testing.T, d *db.DB) {
			ctx := context.Background()
			if err := d.SchemaIsCurrent(ctx); err != nil {
				t.Fatal(err)
			}
			var value int64
			if err := d.QueryRow(ctx, "SELECT value FROM sequence WHERE name = ?", "id").Scan(&value); err != nil || value != 1000 {
				t.Fatalf("sequence id = %d, %v; want 1000", value, err)
			}
			if _, err := d.Exec(ctx, "UPDATE sequence SET value = 5 WHERE name = ?", "id"); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestRedisHandsOutDatabasesOfTheirOwn(t *testing.T) {
	a, b := Redis(t), Redis(t)
	if a == b || !strings.HasPrefix(a, "redis://") {
		t.Errorf("got %s and %s", a, b)
	}
}

func TestRedisTakesOverMarksOfDeadProcesses(t *testing.T) {
	u, err := url.Parse(Redis(t)) // skips the test if there is no server
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	c, err := dialRedis(u.Host, password)
	if err != nil {
		t.Fatal(err)
	}
	defer c.conn.Close()
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	host := path.Dir(owner())
	for mark, want := range map[string]bool{
		fmt.Sprintf("%s/%d", host, ended.Process.Pid):  true,
		fmt.Sprintf("elsewhere/%d", ended.Process.Pid): false,
		fmt.Sprintf("%s/%d", host, os.Getpid()):        false,
		fmt.Sprintf("%s/%d", host, os.Getppid()):       false,
		fmt.Sprint(ended.Process.Pid):                  false,
	} {
		key := fmt.Sprintf("alds_test_mark_%d", os.Getpid())
		c.do("SET", key, mark, "EX", "60")
		if got := c.takeOver(key); got != want {
			t.Errorf("%s is taken over: %v", mark, got)
		}
		if left := c.do("GET", key); (left == owner()) != (want || mark == owner()) {
			t.Errorf("after %s the mark is %s", mark, left)
		}
		c.do("DEL", key)
	}
}

func TestKeepWithoutACache(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", file)
	t.Setenv("HOME", file)
	t.Setenv("TMPDIR", t.TempDir())
	dir, release, err := Keep("x")
	if err != nil || !strings.HasPrefix(dir, os.TempDir()) {
		t.Fatalf("kept in %q: %v", dir, err)
	}
	defer release()
	if _, _, err := KeepIfFree("x"); err == nil {
		t.Error("two processes use one folder")
	}
}

func TestURLIsMigrated(t *testing.T) {
	for _, dialect := range []string{"mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			d, err := db.Open(context.Background(), URL(t, dialect), db.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = d.Close() }()
			if err := d.SchemaIsCurrent(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestServersAreNamedByTheirVersions(t *testing.T) {
	for version, want := range map[string]string{
		"9.7.4-2":                      "MySQL 9.7.4",
		"8.4.6":                        "MySQL 8.4.6",
		"10.11.19-MariaDB-0+deb12u1":   "MariaDB 10.11.19",
		"11.8.9-MariaDB-4 from Debian": "MariaDB 11.8.9",
	} {
		if got := product(version); got != want {
			t.Errorf("%s: got %s, want %s", version, got, want)
		}
	}
}
