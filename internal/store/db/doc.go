// Package db is the handle to the main database: MySQL or MariaDB, or SQLite in a file. It
// opens the database, divides its connections, runs and retries transactions, and reads from
// replicas. Other packages do the rest: connection has the connections, sqlerror turns driver
// errors into faults, migrate has the migrations, and engine says what the server is.
//
// Words: a Tx is one transaction. A Dialect holds the differences between servers. An instant
// is a BIGINT of UTC microseconds.
//
// Guarantees:
//
//   - All statements of a Read see one snapshot.
//   - Write is all or nothing, READ COMMITTED. It runs the whole function
//     again after a deadlock, so the function must have no effect outside of
//     its transaction.
//   - RowsAffected counts the rows that a statement matched, changed or not,
//     on every server (clientFoundRows on MySQL; SQLite always does). So the
//     caller sees whether a conditional UPDATE has matched.
//   - Text sorts without regard to case and accents, in the same order on every
//     server: SQLite gets a collation with the weights of utf8mb4_unicode_ci.
//     Equality and LIKE compare the form that Folded returns, byte by byte.
//   - The values of a statement are arguments. See package connection for which
//     statements are prepared.
//   - Each, Collect and Column read rows. InArgs and InChunks make IN lists. Gorm
//     is for plain tables.
//
// The package never uses gorm's AutoMigrate, and returns no driver error without a kind.
package db
