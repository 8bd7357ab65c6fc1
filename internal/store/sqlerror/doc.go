// Package sqlerror interprets the errors of database drivers. ClassOf says what an error means
// for the transaction, and Fault gives it the kind that callers handle.
//
// Only this package knows the error numbers of MySQL, MariaDB, Galera, TiDB and SQLite.
package sqlerror
