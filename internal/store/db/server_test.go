package db_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestTheServerIsNamed(t *testing.T) {
	form := regexp.MustCompile(`^(MariaDB|MySQL|SQLite) \d+\.\d+\.\d+$`)
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		if name, err := d.Server(t.Context()); err != nil || !form.MatchString(name) {
			t.Errorf("%q %v", name, err)
		}
		if have, want, err := d.Schema(t.Context()); err != nil || have != want || have < 112 {
			t.Errorf("%d, %d: %v", have, want, err)
		}
	})
}

// TestNoRowidFilter checks that a session on MariaDB does not use row id filters, which made
// results lack rows.
func TestNoRowidFilter(t *testing.T) {
	d := testdb.MySQL(t)
	sessions := map[string]func(func(*db.Tx) error) error{
		"read":  func(fn func(*db.Tx) error) error { return d.Read(t.Context(), fn) },
		"write": func(fn func(*db.Tx) error) error { return d.Write(t.Context(), fn) },
		"small": func(fn func(*db.Tx) error) error { return d.Small(t.Context(), fn) },
	}
	for name, run := range sessions {
		var switches string
		err := run(func(tx *db.Tx) error {
			return tx.QueryRow(t.Context(), "SELECT @@SESSION.optimizer_switch").Scan(&switches)
		})
		if err != nil || strings.Contains(switches, "rowid_filter=on") {
			t.Errorf("%s: %v, %s", name, err, switches)
		}
	}
}
