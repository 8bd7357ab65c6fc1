// Package encode appends the rows of plans as JSON or XML to a buffer. There are two encoders for
// the same rows: Rows for query results, bulk results and webhook snapshots, and Assets for the
// data path (rest-1.v1/Data). They share only the printing of single values, so a third form of
// answers would need only one more encoder.
//
// A Set has the rows that one statement returned for a block of ids, as consecutive cells. A list
// of a row is a list of row numbers in the set of a branch. There is no map per row.
package encode
