//go:build !cgo_sqlite

package sqlerror

import (
	"errors"
	"slices"
	"strings"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// complexities are parts of SQLite's messages about statements that are too complex. These
// errors have no code of their own.
var complexities = []string{
	"nested too deep", "Expression tree is too large", "parser stack overflow", "too many FROM clause terms", "tables in a join", "too many SQL variables",
	"too many terms in compound SELECT", "too many arguments on function", "Recursion limit",
}

// sqliteClass returns the class of an error of the driver.
func sqliteClass(err error) Class {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return Other
	}
	switch e.Code() {
	case lib.SQLITE_CONSTRAINT_UNIQUE, lib.SQLITE_CONSTRAINT_PRIMARYKEY, lib.SQLITE_CONSTRAINT_ROWID:
		return Duplicate
	case lib.SQLITE_IOERR_WRITE, lib.SQLITE_IOERR_FSYNC, lib.SQLITE_IOERR_TRUNCATE, lib.SQLITE_IOERR_SHMSIZE:
		return Full
	}
	switch e.Code() & 0xff {
	case lib.SQLITE_FULL:
		return Full
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return Retryable
	case lib.SQLITE_INTERRUPT:
		return Ended
	case lib.SQLITE_ERROR:
		if slices.ContainsFunc(complexities, func(text string) bool { return strings.Contains(e.Error(), text) }) {
			return TooComplex
		}
	}
	return Other
}
