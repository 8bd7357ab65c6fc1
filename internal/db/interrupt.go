//go:build !cgo_sqlite

package db

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// sqliteInterrupt returns what stops the statement that runs on a connection of
// the SQLite driver, from any goroutine. The driver stops a statement only until
// its first row is there; a later one may be as far away.
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

// sqliteActive returns what reports whether a connection is in a transaction; nil
// where that cannot be asked. No statement may run on it meanwhile.
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

// sqlitePlansOnce makes SQLite plan a statement without its arguments. With
// statistics it would otherwise plan it anew for each value of many an argument.
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

// sqliteHandle returns SQLite's handle in a connection of its driver, invalid in
// another. A test holds it to the driver's field, which has no other name.
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
