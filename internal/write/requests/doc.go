// Package requests stores requests and their answers, so that a request is executed once. It
// stores requests with an Idempotency-Key, and requests that were accepted for asynchronous
// execution.
//
// Each request is one row of bulk_request. The row has the status waiting until it has its
// answer. A claim is the right to execute a waiting request. The row stores the owner of the
// claim and the end of its lease. The database's clock decides whether the lease has ended. A
// write uses an execution:
//
//	execution, answer, err := store.Begin(ctx, member, id, identity)
//	in the transaction:       execution.Insert(tx)  ...  execution.StoreAnswer(ctx, tx, answer)
//	execution.End()
//
// The answer is written in the transaction of the change. If the request has a claim, the answer
// is only written while the claim is valid. If a process dies, its request has no answer. Another
// process can claim the request when the lease has ended.
//
// The package executes nothing. It depends neither on commands nor on HTTP.
//
// Spec: interface 2.5 (complete, processing).
package requests
