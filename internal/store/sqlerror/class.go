package sqlerror

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"regexp"
	"strings"
	"syscall"

	"github.com/go-sql-driver/mysql"
	"gorm.io/gorm"
)

// Class is the meaning of a driver error.
type Class uint8

// The classes.
const (
	Other       Class = iota
	NoRows            // nothing found
	Duplicate         // a unique key refused the row
	Retryable         // deadlock, lock wait or write conflict: run the transaction again
	Lost              // the connection or the server went away
	Away              // this server cannot work or write now, and has not run the statement; another server may run it
	Unavailable       // the server refuses statements for now
	Unanswered        // a part of the server's cluster does not answer
	Undecided         // the server failed while it committed or rolled back
	Ended             // the context of the caller ended, or a time limit was reached
	Full              // the server's disk, or another limit, is full
	TooLarge          // the transaction is larger than the server accepts
	TooComplex        // the statement has more parts, or is nested deeper, than the database accepts
)

// mysqlClasses maps the error numbers of MySQL, MariaDB, Galera and TiDB to classes. A remark that
// begins with COMMIT says what has happened if a COMMIT fails with the error; see OutcomeUnknown.
var mysqlClasses = map[uint16]Class{
	1062: Duplicate, 1586: Duplicate,

	// Another transaction was first. After such an error of COMMIT, the server has already rolled back.
	1205: Retryable, // lock wait
	1213: Retryable, // deadlock; Galera: the write of another node was first; all nodes decide alike
	1020: Retryable, // changed since last read
	1206: Retryable, // the table of locks is full
	3101: Retryable, // group replication: the write of another member was first; all members decide alike
	8002: Retryable, // TiDB: it cannot repeat a SELECT FOR UPDATE by itself, and rolls back
	8005: Retryable, // TiDB: write conflict, found before the commit
	8022: Retryable, // TiDB: the commit failed and was rolled back
	8028: Retryable, // TiDB: the schema was changed meanwhile
	9004: Retryable, // TiDB: a lock was not resolved in time
	9006: Retryable, // TiDB: garbage collection has removed the old data that the transaction reads
	9007: Retryable, // TiDB: write conflict

	1927: Lost, 1053: Lost, 4031: Lost, // the connection was killed, the server shuts down, the connection was idle too long

	// The server returns these errors before it runs a statement. While it is in this state, it
	// also refuses COMMIT and ROLLBACK. The transaction then stays open until the connection is
	// closed; see IsUnfit.
	1047: Away, // Galera: the node is not ready, or not in the primary component
	1290: Away, // read_only, super_read_only: a replica, or the former primary after a failover. COMMIT rolls back
	1792: Away, // the session or the server is read-only
	1836: Away, // read-only mode. COMMIT rolls back
	3796: Away, // group replication: the member cannot guarantee group_replication_consistency when a transaction begins
	3797: Away, // as 3796
	3798: Away, // as 3796
	3799: Away, // as 3796: the plugin is stopping
	8027: Away, // TiDB: the schema of this server is out of date

	// The server works, but has not run the statement. COMMIT: it has rolled back.
	1037: Unavailable, 1041: Unavailable, // out of memory
	1040: Unavailable, 1203: Unavailable, // too many connections
	1317: Unavailable,                    // the statement was killed; COMMIT: nothing was committed
	1969: Unavailable, 3024: Unavailable, // the statement took too long; never an answer to COMMIT

	// TiDB has waited in vain for another part of its cluster: the store or the clock. COMMIT: TiDB
	// may have sent the commit to the store. It closes the connection if it detects that the
	// outcome is unknown.
	9001: Unanswered, // the placement driver timed out
	9002: Unanswered, // TiKV timed out
	9003: Unanswered, // TiKV is busy
	9005: Unanswered, // a region is unavailable
	9008: Unanswered, // too many requests wait for TiKV
	9010: Unanswered, // TiKV no longer accepts the command

	// Before COMMIT: nothing is committed. COMMIT: this server has failed, but other servers may
	// already have the transaction.
	1180: Undecided, // an engine failed in COMMIT; Galera: the node lost the cluster while it sent its write set
	1181: Undecided, // ROLLBACK failed, for example after a failed COMMIT
	3100: Undecided, // group replication: before_commit failed; the member rolls back, but its message may have reached the group

	// COMMIT: the server has undone the write.
	1021: Full, 1026: Full, 1114: Full, 1878: Full, 3: Full, // disk full, error writing, table full, error writing a temporary file, error writing

	1116: TooComplex, // more than 61 tables in a join
	1390: TooComplex, // too many placeholders
	1436: TooComplex, // the stack of the server is too small for the statement
	1473: TooComplex, // too many levels of SELECT

	1153: TooLarge,                 // a value is larger than max_allowed_packet; the server then closes the connection, so that the error may be lost, see LargestValue of db
	8004: TooLarge, 8025: TooLarge, // TiDB: the transaction, or a row of it, is too large
}

// mysqlTexts has the classes of errors whose number is also used by errors of other classes. Such
// an error has the number, and its message begins with the text.
var mysqlTexts = []struct {
	number uint16
	text   string
	class  Class
}{
	{1105, "Maximum writeset size exceeded", TooLarge}, // Galera: wsrep_max_ws_size
	{1105, "execution result undetermined", Undecided}, // TiDB, if it does not close the connection
	{1030, "Got error 149 ", Retryable},                // a deadlock, reported by an engine
	{1030, "Got error 153 ", Retryable},                // no savepoint: group replication has undone the transaction
	{1305, "SAVEPOINT ", Retryable},                    // also: no savepoint
	{1180, "Got error 149 - ", Retryable},              // MySQL, in COMMIT, before the group gets the transaction
}

const (
	mysqlNoTable       = 1146
	mysqlNotNull       = 1048
	mysqlTooManyStmts  = 1461
	mysqlTableExists   = 1050
	mysqlColumnExists  = 1060
	mysqlKeyExists     = 1061
	mysqlNothingToDrop = 1091
	mysqlStatementTime = 1969 // MariaDB: the statement took too long
	mysqlExecutionTime = 3024 // MySQL: the statement took too long
)

// noSpace matches the message of a storage engine about a full disk: error 1030, or an error while
// a file is written. The message contains the error number of the operating system.
var noSpace = regexp.MustCompile(`(?i)(error|errcode:|errno:)\s*(28|122)\b`)

func mysqlClass(err *mysql.MySQLError) Class {
	c := mysqlClasses[err.Number]
	for _, known := range mysqlTexts {
		if err.Number == known.number && strings.HasPrefix(err.Message, known.text) {
			return known.class
		}
	}
	if c == Other && noSpace.MatchString(err.Message) {
		return Full
	}
	return c
}

// MayRepeat reports whether a transaction that failed before its COMMIT may run again.
func MayRepeat(err error) bool {
	switch ClassOf(err) {
	case Retryable, Lost, Away, Undecided:
		return true
	}
	return false
}

// OutcomeUnknown reports whether a transaction may be committed although its COMMIT failed
// with err. It returns false only if the server has certainly rolled back.
func OutcomeUnknown(err error) bool {
	switch ClassOf(err) {
	case Other, Lost, Undecided, Unanswered:
		return true
	}
	return false
}

// IsUnfit reports whether a connection must be closed after err although the server keeps it open.
// The server refuses statements on it, or the transaction may still be open. So the pool must not
// use the connection again.
func IsUnfit(err error) bool {
	c := ClassOf(err)
	return c == Away || c == Undecided
}

// ClassOf returns the class of an error of a driver or of gorm.
func ClassOf(err error) Class {
	if my, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return mysqlClass(my)
	}
	if c := sqliteClass(err); c != Other {
		return c
	}
	switch {
	case errors.Is(err, sql.ErrNoRows), errors.Is(err, gorm.ErrRecordNotFound):
		return NoRows
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Ended
	case errors.Is(err, mysql.ErrPktTooLarge):
		return TooLarge
	case errors.Is(err, mysql.ErrInvalidConn), errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return Lost
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return Lost
	}
	return Other
}
