// Package db is the handle to the main database: MySQL or MariaDB, or SQLite in a file. It opens
// the database, divides its connections between kinds of work, runs and retries transactions, and
// reads from replicas. Other packages do the rest: connection opens connections, sqlerror converts
// driver errors to faults, migrate runs the migrations, and engine determines the kind of the
// server.
//
// Words: a Tx is one transaction. A Dialect holds the differences between servers. An instant
// is a BIGINT of UTC microseconds.
//
// Guarantees:
//
//   - All statements of a Read see one snapshot.
//   - Write runs a function in one transaction with the isolation level READ COMMITTED. After a
//     deadlock it runs the whole function again, so the function must have no effect outside of its
//     transaction.
//   - RowsAffected counts the rows that a statement matched, changed or not,
//     on every server (clientFoundRows on MySQL; SQLite always does). So the
//     caller sees whether a conditional UPDATE has matched.
//   - Text sorts without regard to case and accents, in the same order on every
//     server: SQLite gets a collation with the weights of utf8mb4_unicode_ci.
//     Equality and LIKE compare the form that Folded returns, byte by byte.
//   - Statements get their values as arguments. Package connection describes which statements are
//     prepared.
//   - Each, Collect and Column read rows. InArgs and InChunks make IN lists. Gorm
//     is for plain tables.
//
// The package never uses gorm's AutoMigrate. Every driver error that it returns has a kind.
package db
