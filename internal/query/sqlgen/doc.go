// Package sqlgen writes plans as SQL text and arguments. It is pure: the dialect and the
// member who runs the query are values. The same plan always gives the same text.
//
// Tables have the aliases t0, t1, ... in the order of the tree. Identifiers and numbers come
// only from the model; text of a client is always an argument. A joined table that nothing
// reads is left out.
//
// Writer has one method for each statement:
//
//   - Page reads the rows of a page with all their cells. IDsFirst is another form of it.
//   - IDs reads only which rows there are, in order. Among does so for some versions.
//   - Total counts the rows.
//   - Block reads the rows of a list of ids, and Children those of a branch.
//   - Together reads one asset with the rows of its branches.
//   - Lookup runs before the others and finds scopes.
//
// Common tables are those of the WITH clause of a statement. They have the ids of a page, and
// values that many rows share (once.go).
package sqlgen
