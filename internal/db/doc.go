// Package db is the handle to the database of truth: MySQL or MariaDB, or
// SQLite in a file. It opens, migrates, runs transactions with retry, prepares
// statements, and turns driver errors into faults once.
//
// Words: a Tx is one transaction. A Dialect is the value that holds what the
// servers do not share. An instant is a BIGINT of UTC microseconds.
//
// Guarantees:
//
//   - Read gives one snapshot, however many statements it runs.
//   - Write is all or nothing, READ COMMITTED, and runs the whole function
//     again after a deadlock, so the function must have no effect outside of
//     its transaction.
//   - RowsAffected counts the rows a statement matched, changed or not, on
//     every server (clientFoundRows on MySQL; SQLite always does), so a
//     conditional UPDATE that matched differs from one that did not.
//   - Text sorts without regard to case and accents, alike on every server:
//     SQLite gets a collation with the weights of utf8mb4_unicode_ci. Equality
//     and LIKE compare the form that Folded gives, byte by byte.
//   - A statement has its values as arguments. One of a single table is prepared and
//     cached per connection; one of several, or in a packet with others, goes to a
//     server as text, and the driver quotes the values.
//   - Each, Collect and Column read rows; InArgs and InChunks make IN lists; Gorm
//     is for plain tables.
//
// The package knows no table but schema_migration, never uses gorm's AutoMigrate,
// and returns no driver error without a kind.
package db
