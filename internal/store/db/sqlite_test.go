package db_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
)

// openFile opens a SQLite database as a process does.
func openFile(t *testing.T, path string) *db.DB {
	t.Helper()
	d, err := db.Open(t.Context(), "sqlite:"+path, db.Options{MaxConns: 5})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func exec(t *testing.T, d *db.DB, statement string, args ...any) {
	t.Helper()
	if _, err := d.Exec(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// modes returns the modes of the files of a database, which must all exist.
func modes(t *testing.T, path string) map[string]os.FileMode {
	t.Helper()
	all := map[string]os.FileMode{}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		all["database"+suffix] = info.Mode().Perm()
	}
	return all
}

func TestOnlyTheOwnerReadsTheFilesOfADatabase(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0)) // files without an explicit mode are readable and writable by everybody
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "alds.db")
	first := openFile(t, path)
	exec(t, first, "CREATE TABLE t (a TEXT)")
	for name, mode := range modes(t, path) {
		if mode != 0o600 {
			t.Errorf("the new %s has the mode %o", name, mode)
		}
	}
	for _, suffix := range []string{"", "-wal", "-shm"} { // files as an earlier release has created them
		if err := os.Chmod(path+suffix, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	exec(t, openFile(t, path), "INSERT INTO t VALUES ('x')")
	for name, mode := range modes(t, path) {
		if mode != 0o600 {
			t.Errorf("the old %s has the mode %o", name, mode)
		}
	}
}

func TestWhatIsDeletedLeavesTheFileOfADatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "alds.db")
	d := openFile(t, path)
	exec(t, d, "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)")
	const secret = "this text was meant for few"
	long := strings.Repeat(secret+" ", 1000) // long enough to have separate pages
	exec(t, d, "INSERT INTO t VALUES (1, ?), (2, ?), (3, ?)", secret, long, "kept")
	exec(t, d, "UPDATE t SET a = NULL WHERE id = 1")
	exec(t, d, "DELETE FROM t WHERE id = 2")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b, []byte(secret)) || !bytes.Contains(b, []byte("kept")) {
		t.Errorf("of %d bytes: the deleted text is there: %v", len(b), bytes.Contains(b, []byte(secret)))
	}
}
