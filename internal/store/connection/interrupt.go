//go:build !cgo_sqlite

package connection

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// sqliteInterrupt returns a function that stops the running statement of a SQLite connection. It
// may be called from any goroutine. The driver itself can stop a statement only before its first
// row, but the later rows may also take long. The result is nil for another driver.
func sqliteInterrupt(c driver.Conn) func() {
	handle := sqliteHandle(c)
	if !handle.IsValid() {
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

// sqliteActive returns a function that reports whether a connection is in a transaction. The result
// is nil for another driver. No statement may run on the connection during the call.
func sqliteActive(c driver.Conn) func() bool {
	handle := sqliteHandle(c)
	if !handle.IsValid() {
		return nil
	}
	return func() bool {
		tls := libc.NewTLS()
		defer tls.Close()
		return lib.Xsqlite3_get_autocommit(tls, uintptr(handle.Uint())) == 0
	}
}

// sqlitePlansOnce makes SQLite plan a statement without the values of its arguments. Otherwise,
// with statistics, SQLite would plan many statements again whenever the value of an argument
// changes.
func sqlitePlansOnce(c driver.Conn) error {
	handle := sqliteHandle(c)
	if !handle.IsValid() {
		return nil
	}
	tls := libc.NewTLS()
	defer tls.Close()
	args := libc.NewVaList(int32(1), uintptr(0))
	if args == 0 {
		return errors.New("no memory for a connection")
	}
	defer libc.Xfree(tls, args)
	if rc := lib.Xsqlite3_db_config(tls, uintptr(handle.Uint()), lib.SQLITE_DBCONFIG_ENABLE_QPSG, args); rc != lib.SQLITE_OK {
		return fmt.Errorf("configure a connection: code %d", rc)
	}
	return nil
}

// sqliteHandle returns the SQLite handle of a connection. The result is invalid if the connection
// is not from the SQLite driver. The driver does not export the field with the handle, so a test
// checks the name of the field.
func sqliteHandle(c driver.Conn) reflect.Value {
	v := reflect.ValueOf(c)
	if v.Kind() != reflect.Pointer {
		return reflect.Value{}
	}
	if handle := v.Elem().FieldByName("db"); handle.Kind() == reflect.Uintptr {
		return handle
	}
	return reflect.Value{}
}
