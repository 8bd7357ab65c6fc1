// Package sqlgen writes plans as SQL text and arguments. It is pure: the dialect and the
// member who runs the query are values. The same plan always gives the same text.
//
// Tables have the aliases t0, t1, ... in the order of the tree. Identifiers and numbers come
// only from the model; text of a client is always an argument. A joined table that nothing
// reads is left out.
//
// Writer has one method for each statement. Page reads the rows with all their cells, IDs only
// which rows there are, in order. Total counts them, and Block reads the rows of a list of
// ids. IDsFirst, Lookup, Together, Children and Among serve special cases.
//
// Common tables stand in a WITH clause in front of a statement. They hold values that many
// rows share (once.go).
package sqlgen
