package db_test

import (
	"regexp"
	"testing"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/testdb"
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
