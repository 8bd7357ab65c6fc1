// Package sqlerror interprets the errors of database drivers. ClassOf returns what an error means
// for the transaction. Fault adds the kind of the error, which callers handle.
//
// Only this package uses the error numbers of MySQL, MariaDB, Galera, TiDB and SQLite.
package sqlerror
