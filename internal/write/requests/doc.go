// Package requests stores requests and their answers, so that a request is executed once.
// These are requests with an Idempotency-Key, and requests accepted for asynchronous
// execution.
//
// Each is one row of bulk_request. The row is waiting until it has its answer. A claim is the
// right to execute a waiting request: an owner and a lease by the database's clock. A write
// uses an execution:
//
//	execution, answer, err := store.Begin(ctx, member, id, identity)
//	in the transaction:       execution.Insert(tx)  ...  execution.StoreAnswer(ctx, tx, answer)
//	execution.End()
//
// The answer is written in the transaction of the change, and for a claim only while the claim
// holds. If a process dies, its claim ends without an answer and is free again when the lease
// expires.
//
// The package executes nothing. It depends neither on commands nor on HTTP.
//
// Spec: interface 2.5 (complete, processing).
package requests
