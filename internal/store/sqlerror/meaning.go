package sqlerror

import (
	"errors"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// FromServer reports whether err is the answer of a server. It returns false for an error of
// SQLite, of the network, or of a context.
func FromServer(err error) bool {
	_, ok := errors.AsType[*mysql.MySQLError](err)
	return ok
}

// IsNoTable reports whether a statement failed because a table is missing, as in a database
// that was never migrated.
func IsNoTable(err error) bool {
	if hasNumber(err, mysqlNoTable) {
		return true
	}
	return err != nil && !FromServer(err) && strings.Contains(err.Error(), "no such table")
}

// IsAlreadyThere reports whether a server refused to create something that exists, or to drop
// something that does not exist.
func IsAlreadyThere(err error) bool {
	return hasNumber(err, mysqlTableExists, mysqlColumnExists, mysqlKeyExists, mysqlNothingToDrop)
}

// IsTimeLimit reports whether a server ended a statement because of its time limit.
func IsTimeLimit(err error) bool { return hasNumber(err, mysqlStatementTime, mysqlExecutionTime) }

// IsTooManyStatements reports whether the server's limit of prepared statements is reached.
func IsTooManyStatements(err error) bool { return hasNumber(err, mysqlTooManyStmts) }

// hasNumber reports whether err is a server's error with one of these numbers.
func hasNumber(err error, numbers ...uint16) bool {
	my, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && slices.Contains(numbers, my.Number)
}

// RefusesNull reports whether a statement failed because a column does not allow NULL.
func RefusesNull(err error, column string) bool {
	if my, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return my.Number == mysqlNotNull && strings.Contains(my.Message, "'"+column+"'")
	}
	return err != nil && strings.Contains(err.Error(), "NOT NULL constraint failed: ") && strings.Contains(err.Error(), "."+column+" ")
}
