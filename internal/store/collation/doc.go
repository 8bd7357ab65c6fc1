// Package collation compares and matches texts as MariaDB and MySQL do with
// utf8mb4_unicode_ci, so that SQLite sorts like them. Package db gives these functions to
// SQLite. The package knows no database.
//
// Compare orders two texts. Like matches a pattern; it compares the characters themselves, so
// the caller folds both texts first.
package collation
