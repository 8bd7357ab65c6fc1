// Package ledger keeps requests and their answers, so that a request is carried
// out once: those sent under an Idempotency-Key, and those accepted to be
// carried out later.
//
// Words: an entry is one row of bulk_request. It is waiting until it has its
// answer; a claim is the right to carry a waiting one out, an owner and a lease
// by the database's clock. Whoever writes does it like this:
//
//	entry, answer, err := book.Enter(ctx, member, id, once)
//	in the transaction:   entry.Begin(ctx, tx)  ...  entry.Keep(ctx, tx, answer)
//	entry.Leave()
//
// The answer is written in the transaction of the change, and for a claim only
// while it is still the entry's: so a request is done exactly as often as it
// has an answer, once. A claim that ends without one, because its process died,
// is free again when the lease is over.
//
// It never carries anything out, and knows neither commands nor HTTP.
//
// Spec: interface 2.5 (complete, processing).
package ledger
