// Package find runs queries and passes their rows to an encoder. Every read of assets uses it: bulk
// queries, query.v1, the data path, snapshots and filters of webhooks.
//
// A query becomes one statement per result set. Each to-many column or nested select adds one
// statement per block of up to 500 parents. A result without a limit reads its ids first. It then
// reads the rows and their children block by block, in one snapshot. So memory is bounded by the
// ids and by the rows and children of one block. No map is made per row. With Into, the answer is
// flushed in pieces while it is read.
//
// Plans are cached by the shape of a request. The shape is the request without its values.
//
// Visibility is part of every statement, never a filter applied afterwards.
//
// Spec: interface 4.1, 4.3 (queries), 6 (filters and snapshots).
package find
