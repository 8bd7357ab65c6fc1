// Package sqlgen writes plans as SQL text and arguments. It is pure: the
// dialect and the member who asks are values, and the same plan always gives
// the same text.
//
// Tables are called t0, t1, ... in the order of the tree. Identifiers and
// numbers come from the model only; what a client wrote is always an argument.
// A joined table that nothing reads is left out.
//
// Four statements come from one plan: Page (the rows themselves), IDs (only
// which rows, in order), Total (how many) and Block (the rows of given ids).
package sqlgen
