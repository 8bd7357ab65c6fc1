// Package migrate brings the schema of a database up to date, and compares it with this build.
//
// Words: a migration is a numbered step of package sql. The lease is a row with a time limit: only
// the process that has the lease may migrate. The state of a schema lists the missing migrations,
// and the migrations that a newer release has added.
//
// Guarantees:
//
//   - Each migration is recorded before and after it runs. After a crash, the next process
//     continues with the migration that has not ended.
//   - A database that a newer release has migrated stays unchanged. This release works with the
//     database only if the records of all newer migrations allow this.
//   - Migrations that were changed after they were applied are refused.
//
// db.DB has the methods of Migrations.
package migrate
