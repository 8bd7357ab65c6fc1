// Package sql holds the schema: numbered migrations for MySQL and MariaDB
// (mysql/) and for SQLite (sqlite/), embedded in the binary.
//
// Both folders have files with the same numbers and names, for example
//
//	mysql/0002_asset.sql
//	sqlite/0002_asset.sql
//
// A released file never changes, because every database stores the checksums of its migrations.
// MySQL cannot roll back a change of the schema. So a MySQL file has exactly one statement, which
// may run again after a crash, such as CREATE TABLE IF NOT EXISTS, INSERT IGNORE or ALTER TABLE. A
// repeated ALTER TABLE fails because its change exists already; package migrate accepts this error
// for a file that was begun before. SQLite rolls back a whole migration, so a SQLite file may have
// a table together with its indexes.
//
// Each migration has the oldest release that works with it (oldest.go). The
// database stores this release, so an older process can check whether it may
// continue.
//
// A migration that SQL cannot express is a Go program (steps.go). Its number is not used by a file,
// and it is the same program for both dialects. For example, program 0065 stores the folded forms
// of texts, which package folding describes.
package sql
