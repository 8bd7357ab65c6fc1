package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/alds-dev/alds/internal/base/fault"
)

// TestMySQLHasNoRoom checks the messages of servers about a lack of space.
func TestMySQLHasNoRoom(t *testing.T) {
	for _, c := range []struct {
		number  uint16
		message string
		want    class
	}{
		{1021, "Disk full (/tmp/#sql-temptable-1); waiting for someone to free some space... (errno: 28 \"No space left on device\")", full},
		{1114, "The table 'asset' is full", full},
		{1026, "Error writing file '/var/lib/mysql/binlog.000001' (errno: 28 - No space left on device)", full},
		{3, "Error writing file '/tmp/MLfd=1' (Errcode: 28 \"No space left on device\")", full},
		{1030, "Got error 28 \"No space left on device\" from storage engine InnoDB", full},
		{1030, "Got error 122 'Disk quota exceeded' from storage engine", full},
		{1030, "Got error 168 - 'Unknown (generic) error from engine' from storage engine", other},
		{1064, "You have an error in your SQL syntax near '280' at line 28", other},
		{1213, "Deadlock found when trying to get lock", retryable},
	} {
		if got := classOf(fmt.Errorf("a statement: %w", &mysql.MySQLError{Number: c.number, Message: c.message})); got != c.want {
			t.Errorf("%d %s: class %d, want %d", c.number, c.message, got, c.want)
		}
	}
}

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
