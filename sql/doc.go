// Package sql holds the schema: numbered migrations for MySQL and MariaDB
// (mysql/) and for SQLite (sqlite/), embedded in the binary.
//
// Both folders have the same numbers and names, such as
//
//	mysql/0002_asset.sql
//	sqlite/0002_asset.sql
//
// A released file never changes: its checksum is stored in every database it
// was applied to. MySQL cannot roll back a change of schema, so a MySQL file
// holds exactly one statement, which may be run again after a crash:
// CREATE TABLE IF NOT EXISTS, INSERT IGNORE, or an ALTER TABLE whose repetition
// fails with "already there", which package db accepts when the file had been
// begun. SQLite rolls back a whole migration, so its file may hold a table
// together with its indexes.
//
// Each migration names the oldest release that works with it (oldest.go), which is
// stored with it, so that an older process knows whether it may go on.
//
// What SQL cannot compute is a program with a number among those of the files,
// the same for both: 0065 stores the folded forms of texts.
package sql
