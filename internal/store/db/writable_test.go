package db_test

import (
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestEnginesOfTests checks that the test servers accept writes, and that Engine describes them.
func TestEnginesOfTests(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		e, err := d.Engine(t.Context())
		if err != nil || !e.Writes || e.Server == "" || e.Mode != "single server" && e.Mode != "a file" {
			t.Errorf("%+v, %v", e, err)
		}
		for range 2 {
			if err := d.Health().Writable(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestWritableAsksByItself checks that Writable works before any call of Engine.
func TestWritableAsksByItself(t *testing.T) {
	d, err := db.Open(t.Context(), testdb.EmptyURL(t, "mysql"), db.Options{MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Health().Writable(t.Context()); err != nil {
		t.Error(err)
	}
}
