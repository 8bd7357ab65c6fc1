package db

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/base/fault"
)

// TestSQLiteHasNoRoom limits the size of a real file. A write without space is transient and
// leaves nothing behind. The same connection works again when there is space.
func TestSQLiteHasNoRoom(t *testing.T) {
	ctx := context.Background()
	d, err := Open(ctx, "sqlite:"+filepath.Join(t.TempDir(), "file.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	exec := func(query string) {
		t.Helper()
		if _, err := d.Exec(ctx, query); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE TABLE x (n INTEGER PRIMARY KEY, text TEXT)")
	exec("INSERT INTO x VALUES (1, 'before')")
	exec("PRAGMA max_page_count = 20")
	text := strings.Repeat("x", 4000)
	put := func(tx *Tx, n int) error {
		_, err := tx.Exec(ctx, "INSERT INTO x VALUES (?, ?)", n, text)
		return err
	}
	many := func(tx *Tx) error {
		for n := 2; n < 100; n++ {
			if err := put(tx, n); err != nil {
				if put(tx, 1000) == nil {
					t.Error("a transaction without room goes on")
				}
				return nil // like a caller that treats the error as the failure of one command
			}
		}
		return nil
	}
	for range 3 {
		if err := d.Write(ctx, many); fault.KindOf(err) != fault.Transient || !strings.Contains(fault.Public(err), "no room") {
			t.Errorf("a write without room: %v", err)
		}
		if n := rowsOf(t, d); n != 1 {
			t.Errorf("%d rows after a write without room, want 1", n)
		}
	}
	if err := d.Write(ctx, func(tx *Tx) error {
		_, err := tx.Exec(ctx, "UPDATE x SET text = 'small' WHERE n = 1")
		return err
	}); err != nil {
		t.Errorf("a write that needs no room: %v", err)
	}
	if n := d.Counts().NoRoom; n != 3 {
		t.Errorf("%d writes without room are counted, want 3", n)
	}
	exec("PRAGMA max_page_count = 100000")
	if err := d.Write(ctx, many); err != nil || rowsOf(t, d) != 99 {
		t.Errorf("with room again: %v, %d rows", err, rowsOf(t, d))
	}
}

func rowsOf(t *testing.T, d *DB) (n int) {
	t.Helper()
	if err := d.QueryRow(context.Background(), "SELECT COUNT(*) FROM x").Scan(&n); err != nil && !errors.Is(err, sql.ErrNoRows) {
		t.Fatal(err)
	}
	return n
}
