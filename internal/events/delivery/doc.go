// Package delivery sends frozen payloads to the receivers of webhooks. The newest
// attempts of a subscription leave receipts.
//
//	Insert (row, waiting) --claim--> queue --POST--> classify --> row settled, receipt
//
// The rows are the queue of record; the queues in memory hold what this process
// has claimed of them. One sender at a time has a queue for a subscription and
// sends its deliveries in order. A queue that waits holds no slot. A receiver
// that fails has a circuit breaker, which is stored with its subscription.
//
// A claim has a lease (package lease). Its owner is the name of the sender and a
// number, which one claim uses, and is the fence: the result of a lost claim changes
// no delivery and no counter, also where the same sender has claimed it again.
//
// What a subscription is when a request begins counts, not what it was when the
// delivery was claimed: a queue reads it again (queues.current).
//
// The package knows addresses and counters of subscriptions, not their rules.
// Locks are taken in this order: subscription, delivery.
//
// Spec: interface 2.7, 4.4, 6.2.
package delivery
