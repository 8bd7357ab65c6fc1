// Package db is the handle to the database of truth: MySQL or MariaDB, or
// SQLite in a file. It opens, migrates, runs transactions with retry, prepares
// statements, and turns driver errors into faults once.
//
// Words: a Tx is one transaction. A Dialect is the value that holds what the
// servers do not share. An instant is a BIGINT of UTC microseconds.
//
// What every engine may rely on:
//
//   - Read gives one snapshot, however many statements it runs.
//   - Write is all or nothing, READ COMMITTED, and runs the whole function
//     again after a deadlock, so the function must have no effect outside of
//     its transaction.
//   - RowsAffected counts the rows a statement matched, changed or not, on
//     every server (clientFoundRows on MySQL; SQLite always does), so a
//     conditional UPDATE that matched is told from one that did not.
//   - Text sorts without regard to case and accents, alike on every server:
//     SQLite gets a collation with the weights of utf8mb4_unicode_ci. What is
//     equal is another matter: Folded gives the form that is compared byte by
//     byte, in LIKE too.
//   - Every statement with arguments is prepared on the server and kept in a
//     bounded cache per connection; values are never put into SQL text.
//
// What it never does: know a table other than its own schema_migration, use
// gorm's AutoMigrate, or let a driver error leave without a kind.
package db
