// Package sqlgen writes plans as SQL text and arguments. It is pure: the dialect and the member who
// runs the query are values. The same plan always gives the same text.
//
// Tables have the aliases t0, t1, ... in the order in which they are joined. Identifiers and
// numbers come only from the model; text of a client is always an argument. A joined table that
// nothing reads is left out.
//
// Writer has one method for each statement:
//
//   - Page reads the rows of a page with all their cells. IDsFirst is another form of Page.
//   - IDs reads only the ids of the rows, in order. Among reads the ids of some versions.
//   - Total counts the rows.
//   - Block reads the rows of a list of ids. Children reads the rows of a branch.
//   - Together reads one asset with the rows of its branches.
//   - Lookup finds scopes. It runs before the other statements.
//
// Common tables are the tables of the WITH clause of a statement. They have the ids of a page, and
// values that many rows share (shared.go).
package sqlgen
