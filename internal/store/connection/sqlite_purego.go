//go:build !cgo_sqlite

package connection

import (
	"database/sql/driver"
	"net/url"
	"sync"
	"time"

	"modernc.org/sqlite"

	"github.com/alds-dev/alds/internal/store/collation"
)

// Only this file, interrupt.go, and sqliteClass of package sqlerror use the SQLite driver directly.
// The driver is written in Go, so that alds builds anywhere. Files with the build tag cgo_sqlite
// and the same functions can replace these files.

// The driver registers collations and functions once for the whole process.
var registerOnce = sync.OnceValue(registerSQLite)

func registerSQLite() error {
	if err := sqlite.RegisterCollationUtf8("ALDS", collation.Compare); err != nil {
		return err
	}
	if err := sqlite.RegisterDeterministicScalarFunction("alds_like", 3, sqliteLike); err != nil {
		return err
	}
	return sqlite.RegisterScalarFunction("alds_now", 0, func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
		return time.Now().UnixMicro(), nil
	})
}

// sqliteLike is the SQL function alds_like(pattern, text, escape). It returns 1 if the text
// matches, else 0, and NULL if an argument is NULL.
func sqliteLike(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
	pattern, ok1 := textOf(args[0])
	text, ok2 := textOf(args[1])
	escape, ok3 := textOf(args[2])
	if !ok1 || !ok2 || !ok3 {
		return nil, nil
	}
	if collation.Like(text, pattern, only(escape)) {
		return int64(1), nil
	}
	return int64(0), nil
}

func sqliteConnector(file, lock string, pragmas []string) (driver.Connector, error) {
	if err := registerOnce(); err != nil {
		return nil, err
	}
	q := url.Values{"_txlock": {lock}, "_pragma": pragmas, "_dqs": {"0"}}
	return sqlite.NewConnector(file + "?" + q.Encode())
}
