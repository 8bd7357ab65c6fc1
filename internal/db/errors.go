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

	"github.com/alds-dev/alds/internal/fault"
)

// ErrUnknownOutcome is in the chain of an error of Write when the connection was
// lost after COMMIT had been sent, or the server failed while it committed: the
// transaction may be committed or not. Its kind is fault.Transient. The caller looks
// for what it wrote (the audit's request id) before it retries.
var ErrUnknownOutcome = errors.New("the connection was lost during commit, or the server failed in it")

// class is what a driver error means.
type class uint8

const (
	other       class = iota
	noRows            // nothing found
	duplicate         // a unique key refused the row
	retryable         // deadlock, lock wait, write conflict: run the transaction again
	lost              // the connection or the server went away
	away              // this server does not work, or not write, for now, and has not run the statement; another one may
	unavailable       // the server refuses statements for now
	unanswered        // a part of the server's cluster does not answer
	undecided         // the server failed while it committed or rolled back
	ended             // the caller's context ended, or the time limit did
	full              // the server's disk, or another limit, is full
	tooLarge          // the transaction is larger than the server takes
	tooComplex        // the statement has more parts, or deeper ones, than the database takes
)

// MySQL, MariaDB, Galera and TiDB error numbers; nothing outside of db knows them. What
// is said of COMMIT is about the outcome, see outcomeUnknown.
var mysqlClasses = map[uint16]class{
	1062: duplicate, 1586: duplicate,

	// Others were first. COMMIT: the server has rolled back before it answered.
	1205: retryable, // lock wait
	1213: retryable, // deadlock; Galera: another node's write was certified first, which all nodes find alike
	1020: retryable, // changed since last read
	1206: retryable, // the table of locks is full
	3101: retryable, // group replication: certification failed, which all members find alike
	8002: retryable, // TiDB: it cannot repeat a SELECT FOR UPDATE by itself, and rolls back
	8005: retryable, // TiDB: write conflict, found before the commit
	8022: retryable, // TiDB: the commit failed and was rolled back
	8028: retryable, // TiDB: the schema was changed meanwhile
	9004: retryable, // TiDB: a lock was not resolved in time
	9006: retryable, // TiDB: older than what garbage collection leaves
	9007: retryable, // TiDB: write conflict

	1927: lost, 1053: lost, 4031: lost, // killed, shutting down, idle too long

	// The server tells so before it runs a statement. COMMIT and ROLLBACK are refused as
	// well and leave the transaction open: it ends with the connection, see unfit.
	1047: away, // Galera: the node is not ready, or not in the primary component
	1290: away, // read_only, super_read_only: a replica, or the primary of before a failover. COMMIT rolls back
	1792: away, // the session or the server is read-only
	1836: away, // read-only mode. COMMIT rolls back
	3796: away, // group replication: the member cannot promise group_replication_consistency, before it begins
	3797: away, // likewise
	3798: away, // likewise
	3799: away, // likewise: the plugin is stopping
	8027: away, // TiDB: this server has lost touch with the schema

	// The server is there, and has not done it. COMMIT: it has rolled back.
	1037: unavailable, 1041: unavailable, // out of memory
	1040: unavailable, 1203: unavailable, // too many connections
	1317: unavailable,                    // the statement was killed; COMMIT answers so only where it was not carried out
	1969: unavailable, 3024: unavailable, // the statement took too long; never of COMMIT

	// TiDB has waited for another part, the store or the clock. COMMIT: it closes the
	// connection where it knows that it does not know, and may have sent the commit.
	9001: unanswered, // the placement driver timed out
	9002: unanswered, // TiKV timed out
	9003: unanswered, // TiKV is busy
	9005: unanswered, // a region is unavailable
	9008: unanswered, // too many requests wait for TiKV
	9010: unanswered, // TiKV does not take the command any more

	// Before COMMIT nothing stands. COMMIT: this server has failed, but others may have the
	// transaction by then.
	1180: undecided, // an engine failed in COMMIT; Galera: the node lost the cluster while its write set was under way
	1181: undecided, // ROLLBACK failed, such as that after a COMMIT that failed
	3100: undecided, // group replication: before_commit failed; the member rolls back, but its message may have reached the group

	// COMMIT: the write has been undone.
	1021: full, 1026: full, 1114: full, 1878: full, 3: full, // disk full, error writing, table full, error writing a temporary file, error writing

	1116: tooComplex, // more than 61 tables in a join
	1390: tooComplex, // too many placeholders
	1436: tooComplex, // the stack is too small for it
	1473: tooComplex, // too many levels of SELECT

	1153: tooLarge,                 // a value is larger than max_allowed_packet; the server then closes the connection, so that the error may be lost, see LargestValue
	8004: tooLarge, 8025: tooLarge, // TiDB: the transaction, or a row of it, is too large
}

// mysqlTexts are the classes of errors without a number of their own, by that which they
// have and the beginning of their text.
var mysqlTexts = []struct {
	number uint16
	text   string
	class  class
}{
	{1105, "Maximum writeset size exceeded", tooLarge}, // Galera: wsrep_max_ws_size
	{1105, "execution result undetermined", undecided}, // TiDB, where it does not close the connection
	{1030, "Got error 149 ", retryable},                // a deadlock, as an engine says it
	{1030, "Got error 153 ", retryable},                // no savepoint: group replication has undone the transaction
	{1305, "SAVEPOINT ", retryable},                    // likewise
	{1180, "Got error 149 - ", retryable},              // MySQL finds so in the first phase of COMMIT, before the group hears of it
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
	mysqlExecutionTime = 3024 // MySQL: likewise
)

// noSpace is how a storage engine's own error (1030, or one while a file is
// written) names the lack of room: by the number of the operating system.
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

// mayRetry reports whether a transaction that failed before its COMMIT may be run again.
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

// outcomeUnknown reports whether a transaction may stand although its COMMIT was answered
// by err: wherever it is not known that the server has rolled back.
func outcomeUnknown(err error) bool {
	switch classOf(err) {
	case other, lost, undecided, unanswered:
		return true
	}
	return false
}

// unfit reports whether a connection is to be closed after err, though the server keeps it:
// a pool would use it again, on a server that refuses, or whose transaction is still open.
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

// IsNoTable reports whether a statement failed because a table is not there, as in a
// database that was never migrated.
func IsNoTable(err error) bool { return err != nil && noTable(err) }

// RefusesNull reports whether a statement failed because a column takes no NULL.
func RefusesNull(err error, column string) bool {
	if my, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return my.Number == mysqlNotNull && strings.Contains(my.Message, "'"+column+"'")
	}
	return err != nil && strings.Contains(err.Error(), "NOT NULL constraint failed: ") && strings.Contains(err.Error(), "."+column+" ")
}

// Fault gives a driver or gorm error its kind: a duplicate key is Conflict, no
// rows NotFound, a transaction that is too large Invalid, a deadlock, a lost
// connection, a full disk or an ended context Transient.
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
