package sqlerror

import (
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// TestMySQLHasNoRoom checks the messages of servers about a lack of space.
func TestMySQLHasNoRoom(t *testing.T) {
	for _, c := range []struct {
		number  uint16
		message string
		want    Class
	}{
		{1021, "Disk full (/tmp/#sql-temptable-1); waiting for someone to free some space... (errno: 28 \"No space left on device\")", Full},
		{1114, "The table 'asset' is full", Full},
		{1026, "Error writing file '/var/lib/mysql/binlog.000001' (errno: 28 - No space left on device)", Full},
		{3, "Error writing file '/tmp/MLfd=1' (Errcode: 28 \"No space left on device\")", Full},
		{1030, "Got error 28 \"No space left on device\" from storage engine InnoDB", Full},
		{1030, "Got error 122 'Disk quota exceeded' from storage engine", Full},
		{1030, "Got error 168 - 'Unknown (generic) error from engine' from storage engine", Other},
		{1064, "You have an error in your SQL syntax near '280' at line 28", Other},
		{1213, "Deadlock found when trying to get lock", Retryable},
	} {
		if got := ClassOf(fmt.Errorf("a statement: %w", &mysql.MySQLError{Number: c.number, Message: c.message})); got != c.want {
			t.Errorf("%d %s: class %d, want %d", c.number, c.message, got, c.want)
		}
	}
}
