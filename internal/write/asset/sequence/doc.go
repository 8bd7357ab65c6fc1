// Package sequence allocates ids, moments, Numbers and ranks from the table sequence, whose rows
// all writers of a database share.
//
// A Block allocates ids of assets and of audit rows, from a range that the process has reserved.
// An Allocator allocates the values that a batch needs when it is written: its moments with their
// time, and its Numbers and ranks. Batches that wait at the same time share one short
// transaction, so that the rows are locked for a short time only.
//
// The times of moments come from the clock of the database, and never decrease.
package sequence
