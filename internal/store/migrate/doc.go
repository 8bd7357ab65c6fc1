// Package migrate brings the schema of a database up to date, and compares it with this build.
//
// Words: a migration is a numbered step of package sql. The lease is the row that lets one
// process migrate at a time. The state of a schema says what is missing, and what a newer
// release has added.
//
// Guarantees:
//
//   - Each migration is recorded before and after it runs. After a crash the next process
//     continues.
//   - A database that a newer release has migrated stays unchanged. This release works with it
//     only if each of the newer migrations says so.
//   - Migrations that were changed after they were applied are refused.
//
// db.DB has the methods of Migrations.
package migrate
