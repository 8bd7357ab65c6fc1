// Package collation compares and matches texts as MariaDB and MySQL do with utf8mb4_unicode_ci, so
// that SQLite sorts like them. Package connection registers these functions in SQLite. This package
// does not use a database.
//
// Compare returns the order of two texts. Like compares a text with a pattern. Like does not ignore
// case, so the caller passes the folded forms of the text and the pattern.
package collation
