// Package sequence allocates ids, moments, Numbers and ranks from the table sequence, whose rows all
// writers of a database share.
//
// A Block allocates ids of assets and audits, from a range that the process has reserved. An
// Allocator allocates what a batch needs when it is written: its moments with their time, and its
// Numbers and ranks. Batches that wait at the same time share one short transaction, so that the rows
// are locked for a short time only.
//
// The times of moments come from the clock of the database, and never decrease.
package sequence
