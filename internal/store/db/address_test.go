package db_test

import (
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
)

func TestNoAddressShowsASecret(t *testing.T) {
	for _, address := range []string{
		"mysql://root:hush@127.0.0.1:1/x",
		"mysql://root:hush@nobody.invalid/x",
		"mysql://root:hush@127.0.0.1:1/x?password=hush",
		"mysql://root:hush@127.0.0.1:1/x?tls=hush",
		"mysql://root:hush@127.0.0.1:port/x",
		"mysql://root:%hush@127.0.0.1/x",
		"mysql://root:hush@127.0.0.1",
		"postgres://root:hush@127.0.0.1/x",
		"root:hush@127.0.0.1/x",
	} {
		d, err := db.Open(t.Context(), address, db.Options{MaxConns: 2})
		if err == nil {
			_ = d.Close()
		}
		if err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
