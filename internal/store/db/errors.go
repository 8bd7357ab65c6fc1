package db

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

	"github.com/alds-dev/alds/internal/base/fault"
)

// ErrUnknownOutcome is in the chain of an error of Write when the connection was lost after
// COMMIT was sent, or the server failed while it committed. The transaction may be committed
// or not. The kind of the error is fault.Transient. Before a retry the caller looks for what
// it wrote (the audit's request id).
var ErrUnknownOutcome = errors.New("the connection was lost during the commit, or the server failed during the commit")

// class is the meaning of a driver error.
type class uint8

const (
	other       class = iota
	noRows            // nothing found
	duplicate         // a unique key refused the row
	retryable         // deadlock, lock wait or write conflict: run the transaction again
	lost              // the connection or the server went away
	away              // this server cannot work or write now, and has not run the statement; another one may
	unavailable       // the server refuses statements for now
	unanswered        // a part of the server's cluster does not answer
	undecided         // the server failed while it committed or rolled back
	ended             // the caller's context ended, or the time limit did
	full              // the server's disk, or another limit, is full
	tooLarge          // the transaction is larger than the server takes
	tooComplex        // the statement has more or deeper parts than the database takes
)

// MySQL, MariaDB, Galera and TiDB error numbers; no other package uses them. Remarks about
// COMMIT describe the outcome, see outcomeUnknown.
var mysqlClasses = map[uint16]class{
	1062: duplicate, 1586: duplicate,

	// Another transaction was first. COMMIT: the server has rolled back before it answered.
	1205: retryable, // lock wait
	1213: retryable, // deadlock; Galera: another node was certified first, with the same result on all nodes
	1020: retryable, // changed since last read
	1206: retryable, // the table of locks is full
	3101: retryable, // group replication: certification failed, with the same result on all members
	8002: retryable, // TiDB: it cannot repeat a SELECT FOR UPDATE by itself, and rolls back
	8005: retryable, // TiDB: write conflict, found before the commit
	8022: retryable, // TiDB: the commit failed and was rolled back
	8028: retryable, // TiDB: the schema was changed meanwhile
	9004: retryable, // TiDB: a lock was not resolved in time
	9006: retryable, // TiDB: older than what garbage collection keeps
	9007: retryable, // TiDB: write conflict

	1927: lost, 1053: lost, 4031: lost, // killed, shutting down, idle too long

	// The server answers so before it runs a statement. It also refuses COMMIT and ROLLBACK
	// then, and the transaction stays open until the connection is closed, see unfit.
	1047: away, // Galera: the node is not ready, or not in the primary component
	1290: away, // read_only, super_read_only: a replica, or the former primary after a failover. COMMIT rolls back
	1792: away, // the session or the server is read-only
	1836: away, // read-only mode. COMMIT rolls back
	3796: away, // group replication: the member cannot guarantee group_replication_consistency, before it begins
	3797: away, // the same
	3798: away, // the same
	3799: away, // the same: the plugin is stopping
	8027: away, // TiDB: the schema of this server is out of date

	// The server works, but has not run the statement. COMMIT: it has rolled back.
	1037: unavailable, 1041: unavailable, // out of memory
	1040: unavailable, 1203: unavailable, // too many connections
	1317: unavailable,                    // the statement was killed; COMMIT: nothing was committed
	1969: unavailable, 3024: unavailable, // the statement took too long; never an answer to COMMIT

	// TiDB has waited for another part, the store or the clock. COMMIT: TiDB may have sent
	// the commit. It closes the connection if it detects that the outcome is unknown.
	9001: unanswered, // the placement driver timed out
	9002: unanswered, // TiKV timed out
	9003: unanswered, // TiKV is busy
	9005: unanswered, // a region is unavailable
	9008: unanswered, // too many requests wait for TiKV
	9010: unanswered, // TiKV no longer accepts the command

	// Before COMMIT nothing is committed. COMMIT: this server has failed, but other servers
	// may already have the transaction.
	1180: undecided, // an engine failed in COMMIT; Galera: the node lost the cluster while it sent its write set
	1181: undecided, // ROLLBACK failed, for example after a failed COMMIT
	3100: undecided, // group replication: before_commit failed; the member rolls back, but its message may have reached the group

	// COMMIT: the write has been undone.
	1021: full, 1026: full, 1114: full, 1878: full, 3: full, // disk full, error writing, table full, error writing a temporary file, error writing

	1116: tooComplex, // more than 61 tables in a join
	1390: tooComplex, // too many placeholders
	1436: tooComplex, // the stack of the server is too small for it
	1473: tooComplex, // too many levels of SELECT

	1153: tooLarge,                 // a value is larger than max_allowed_packet; the server then closes the connection, so that the error may be lost, see LargestValue
	8004: tooLarge, 8025: tooLarge, // TiDB: the transaction, or a row of it, is too large
}

// mysqlTexts are the classes of errors that share a number with others, by their number and
// the beginning of their text.
var mysqlTexts = []struct {
	number uint16
	text   string
	class  class
}{
	{1105, "Maximum writeset size exceeded", tooLarge}, // Galera: wsrep_max_ws_size
	{1105, "execution result undetermined", undecided}, // TiDB, if it does not close the connection
	{1030, "Got error 149 ", retryable},                // a deadlock, reported by an engine
	{1030, "Got error 153 ", retryable},                // no savepoint: group replication has undone the transaction
	{1305, "SAVEPOINT ", retryable},                    // the same
	{1180, "Got error 149 - ", retryable},              // MySQL, in COMMIT, before the group gets the transaction
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
	mysqlExecutionTime = 3024 // MySQL: the same
)

// noSpace matches a storage engine's own error (1030, or one while a file is written) for a
// lack of room. It contains the error number of the operating system.
var noSpace = regexp.MustCompile(`(?i)(error|errcode:|errno:)\s*(28|122)\b`)

func mysqlClass(err *mysql.MySQLError) class {
	c := mysqlClasses[err.Number]
	for _, known := range mysqlTexts {
		if err.Number == known.number && strings.HasPrefix(err.Message, known.text) {
			return known.class
		}
	}
	if c == other && noSpace.MatchString(err.Message) {
		return full
	}
	return c
}

// mayRetry reports whether a transaction that failed before its COMMIT may run again.
func mayRetry(err error) bool {
	if errors.Is(err, ErrUnknownOutcome) {
		return false
	}
	switch classOf(err) {
	case retryable, lost, away, undecided:
		return true
	}
	return false
}

// outcomeUnknown reports whether a transaction may be committed although its COMMIT failed
// with err. It returns false only if the server has certainly rolled back.
func outcomeUnknown(err error) bool {
	switch classOf(err) {
	case other, lost, undecided, unanswered:
		return true
	}
	return false
}

// unfit reports whether a connection must be closed after err although the server keeps it.
// The server refuses statements, or the transaction is still open; the pool would use the
// connection again.
func unfit(err error) bool {
	c := classOf(err)
	return c == away || c == undecided
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
	case errors.Is(err, mysql.ErrPktTooLarge):
		return tooLarge
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

// IsNoTable reports whether a statement failed because a table is missing, as in a database
// that was never migrated.
func IsNoTable(err error) bool { return err != nil && noTable(err) }

// RefusesNull reports whether a statement failed because a column does not allow NULL.
func RefusesNull(err error, column string) bool {
	if my, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return my.Number == mysqlNotNull && strings.Contains(my.Message, "'"+column+"'")
	}
	return err != nil && strings.Contains(err.Error(), "NOT NULL constraint failed: ") && strings.Contains(err.Error(), "."+column+" ")
}

// Fault gives a driver or gorm error its kind. A duplicate key is Conflict, no rows is
// NotFound. A transaction that is too large and a query that is too complex are Invalid. A
// deadlock, a lost connection, a full disk and an ended context are Transient. An error that
// has a kind, or is none of these, is returned unchanged. The methods of Tx and DB call
// Fault; other callers need it for errors of *sql.Rows.
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
	case lost, away, unavailable, unanswered, undecided:
		return fault.Transientf(err, "the database is not available; try again")
	case full:
		return fault.Transientf(err, "the database has no room left; try again later")
	case ended:
		return fault.Transientf(err, "the request took too long or was given up")
	case tooLarge:
		return &fault.Error{Kind: fault.Invalid, Msg: "the request changes more than the database takes in one transaction", At: fault.NoPlace, Err: err}
	case tooComplex:
		return &fault.Error{Kind: fault.Invalid, Msg: "the query is too complex for the database; ask for less at once", At: fault.NoPlace, Err: err}
	}
	return err
}
