// Package sql holds the schema: numbered migrations for MySQL and MariaDB
// (mysql/) and for SQLite (sqlite/), embedded in the binary.
//
// Both folders have the same numbers and names, such as
//
//	mysql/0002_asset.sql
//	sqlite/0002_asset.sql
//
// A released file never changes, because every database stores the checksums of
// its migrations. MySQL cannot roll back a change of the schema. So a MySQL file
// has exactly one statement, which may run again after a crash: CREATE TABLE IF
// NOT EXISTS, INSERT IGNORE, or an ALTER TABLE. A repeated ALTER TABLE fails
// because its change exists already; package db accepts this error for a file
// that was begun before. SQLite rolls back a whole migration, so a SQLite file
// may have a table together with its indexes.
//
// Each migration has the oldest release that works with it (oldest.go). The
// database stores this release, so an older process can check whether it may
// continue.
//
// A migration that SQL cannot express is a Go program (steps.go). It has a number
// that no file has, and runs for both dialects. For example, 0065 stores the
// folded forms of texts.
package sql
