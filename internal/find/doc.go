// Package find runs queries and passes their rows to an encoder. It is the one
// reader of assets: bulk queries, query.v1, the data path, snapshots and
// filters of webhooks all end here.
//
// A query becomes one statement per result set and one per to-many column, or
// nested select, and block of up to 500 parents. A result without a limit reads
// its ids first, then rows and children block by block in one snapshot, so
// memory is bounded by the ids and by the rows and children of a block. No map is
// made per row. With Into, the answer is flushed in pieces while it is read.
//
// Plans are cached by the shape of a request, which is all of it but its values.
//
// Visibility is part of every statement, never a filter afterwards.
//
// Spec: interface 4.1, 4.3 (queries), 6 (filters and snapshots).
package find
