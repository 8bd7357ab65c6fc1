package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"regexp"
	"syscall"

	"github.com/go-sql-driver/mysql"
	"gorm.io/gorm"

	"github.com/alds-dev/alds/internal/fault"
)

// ErrUnknownOutcome is in the chain of an error of Write when the connection was
// lost after COMMIT had been sent: the transaction may be committed or not. Its
// kind is fault.Transient. The caller looks for what it wrote (the audit's request
// id) before it retries.
var ErrUnknownOutcome = errors.New("the connection was lost during commit")

// class is what a driver error means.
type class uint8

const (
	other       class = iota
	noRows            // nothing found
	duplicate         // a unique key refused the row
	retryable         // deadlock, lock wait, write conflict: run the transaction again
	lost              // the connection or the server went away
	unavailable       // the server refuses statements for now
	ended             // the caller's context ended, or the time limit did
	full              // the server's disk, or another limit, is full
)

// MySQL, MariaDB and TiDB error numbers; nothing outside of db knows them.
var mysqlClasses = map[uint16]class{
	1062: duplicate, 1586: duplicate,
	1205: retryable, 1213: retryable, 1020: retryable, 1206: retryable, // lock wait, deadlock, changed since last read, lock table full
	8002: retryable, 8022: retryable, 9007: retryable, // TiDB: write conflicts
	1927: lost, 1053: lost, 4031: lost, // killed, shutting down, idle too long
	1037: unavailable, 1041: unavailable, 1040: unavailable, 1203: unavailable, 1290: unavailable, 1792: unavailable, 1836: unavailable, 1317: unavailable, 1969: unavailable, 3024: unavailable, // 1037, 1041: out of memory; 1969, 3024: the statement took too long
	1021: full, 1026: full, 1114: full, 1878: full, 3: full, // disk full, error writing, table full, error writing a temporary file, error writing
	9001: unavailable, 9002: unavailable, 9003: unavailable, 9005: unavailable, // TiDB: a part does not answer
}

const (
	mysqlNoTable       = 1146
	mysqlTooManyStmts  = 1461
	mysqlTableExists   = 1050
	mysqlColumnExists  = 1060
	mysqlKeyExists     = 1061
	mysqlNothingToDrop = 1091
	mysqlStatementTime = 1969 // MariaDB: the statement took too long
	mysqlExecutionTime = 3024 // MySQL: likewise
)

// noSpace is how a storage engine's own error (1030, or one while a file is
// written) names the lack of room: by the number of the operating system.
var noSpace = regexp.MustCompile(`(?i)(error|errcode:|errno:)\s*(28|122)\b`)

func mysqlClass(err *mysql.MySQLError) class {
	c := mysqlClasses[err.Number]
	if c == other && noSpace.MatchString(err.Message) {
		return full
	}
	return c
}

func classOf(err error) class {
	if my, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return mysqlClass(my)
	}
	if c := sqliteClass(err); c != other {
		return c
	}
	switch {
	case errors.Is(err, sql.ErrNoRows), errors.Is(err, gorm.ErrRecordNotFound):
		return noRows
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return ended
	case errors.Is(err, mysql.ErrInvalidConn), errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return lost
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return lost
	}
	return other
}

// IsNoTable reports whether a statement failed because a table is not there, as in a
// database that was never migrated.
func IsNoTable(err error) bool { return err != nil && noTable(err) }

// Fault gives a driver or gorm error its kind: a duplicate key is Conflict, no
// rows NotFound, a deadlock, a lost connection, a full disk or an ended context
// Transient.
// An error that has a kind, or that is none of these, is returned unchanged. Tx and
// DB methods call it; it is for errors of *sql.Rows.
func Fault(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	switch classOf(err) {
	case noRows:
		return &fault.Error{Kind: fault.NotFound, Msg: "not found", At: fault.NoPlace, Err: err}
	case duplicate:
		return fault.Conflictf(err, "the value is already in use")
	case retryable:
		return fault.Transientf(err, "the request raced with others; try again")
	case lost, unavailable:
		return fault.Transientf(err, "the database is not available; try again")
	case full:
		return fault.Transientf(err, "the database has no room left; try again later")
	case ended:
		return fault.Transientf(err, "the request took too long or was given up")
	}
	return err
}
