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

// This file is the border to the SQLite driver, which is written in Go, so that alds builds
// anywhere, together with interrupt.go and with sqliteClass of package sqlerror. Files with the
// build tag cgo_sqlite and the same functions can replace them.

// The driver keeps collations and functions per process.
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

// sqliteLike is the SQL function alds_like(pattern, text, escape).
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
