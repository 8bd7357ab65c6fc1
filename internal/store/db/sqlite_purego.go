//go:build !cgo_sqlite

package db

import (
	"database/sql/driver"
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/alds-dev/alds/internal/store/collation"
)

// This file is the border to the SQLite driver, which is written in Go, so that alds builds
// anywhere. A file with the build tag cgo_sqlite and the same two functions can replace it.

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

// complexities are parts of SQLite's messages about statements that are too complex. These
// errors have no code of their own.
var complexities = []string{
	"nested too deep", "Expression tree is too large", "parser stack overflow", "too many FROM clause terms", "tables in a join", "too many SQL variables",
	"too many terms in compound SELECT", "too many arguments on function", "Recursion limit",
}

// sqliteClass returns the class of an error of the driver.
func sqliteClass(err error) class {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return other
	}
	switch e.Code() {
	case lib.SQLITE_CONSTRAINT_UNIQUE, lib.SQLITE_CONSTRAINT_PRIMARYKEY, lib.SQLITE_CONSTRAINT_ROWID:
		return duplicate
	case lib.SQLITE_IOERR_WRITE, lib.SQLITE_IOERR_FSYNC, lib.SQLITE_IOERR_TRUNCATE, lib.SQLITE_IOERR_SHMSIZE:
		return full
	}
	switch e.Code() & 0xff {
	case lib.SQLITE_FULL:
		return full
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return retryable
	case lib.SQLITE_INTERRUPT:
		return ended
	case lib.SQLITE_ERROR:
		if slices.ContainsFunc(complexities, func(text string) bool { return strings.Contains(e.Error(), text) }) {
			return tooComplex
		}
	}
	return other
}
