// Package encode appends the rows of plans as JSON or XML to a buffer. There are two encoders for
// the same rows: Rows for query results, bulk results and webhook snapshots, and Assets for the
// data path. They share only the printing of single values, so a third form would only add an
// encoder.
//
// A Set has the rows that one statement returned for a block of ids, as consecutive cells.
// Lists are indexes into the set of a branch. There is no map per row.
package encode
