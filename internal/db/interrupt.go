//go:build !cgo_sqlite

package db

import (
	"database/sql/driver"
	"reflect"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// sqliteInterrupt returns what stops the statement that runs on a connection of
// the SQLite driver, from any goroutine. The driver stops a statement only until
// its first row is there; a later one may be as far away. A test holds it to the
// driver's field, which has no other name.
func sqliteInterrupt(c driver.Conn) func() {
	v := reflect.ValueOf(c)
	if v.Kind() != reflect.Pointer {
		return nil
	}
	handle := v.Elem().FieldByName("db")
	if handle.Kind() != reflect.Uintptr {
		return nil
	}
	return func() {
		if db := uintptr(handle.Uint()); db != 0 {
			tls := libc.NewTLS()
			defer tls.Close()
			lib.Xsqlite3_interrupt(tls, db)
		}
	}
}
