// Package sqlgen writes plans as SQL text and arguments. It is pure: the
// dialect and the member who asks are values, and the same plan always gives
// the same text.
//
// Tables have the aliases t0, t1, ... in the order of the tree. Identifiers and
// numbers come from the model only; text of a client is always an argument. A joined
// table that nothing reads is left out.
//
// Four statements come from one plan: Page (the rows themselves), IDs (only
// which rows, in order), Total (how many) and Block (the rows of given ids).
package sqlgen
