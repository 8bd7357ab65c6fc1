package db_test

import (
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/sqlerror"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestTooComplex checks that a statement that is too complex for the database is an error of
// the request, not of the service.
func TestTooComplex(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		const deep = 1500
		var n int
		err := d.QueryRow(t.Context(), "SELECT "+strings.Repeat("(SELECT ", deep)+"1"+strings.Repeat(")", deep)).Scan(&n)
		if fault.KindOf(sqlerror.Fault(err)) != fault.Invalid {
			t.Errorf("%d SELECTs inside each other: %v", deep, err)
		}
	})
}
