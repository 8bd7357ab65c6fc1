// Package tables reads which tables, columns and keys a database has, and makes the statements
// that read or repair them. It is for code that handles every table, such as an export or a
// check.
package tables
