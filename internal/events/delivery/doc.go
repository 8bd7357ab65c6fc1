// Package delivery sends stored payloads to the receivers of webhooks. It stores receipts of
// the newest attempts of each subscription.
//
//	Insert (row, waiting) --claim--> queue --POST--> classify --> row settled, receipt
//
// The table webhook_delivery is the durable queue. A queue in memory holds the rows of one
// subscription that this process has claimed. Only one sender at a time has a queue for a
// subscription. This sender sends the deliveries in the order of their due times. A request needs a
// slot, because the number of concurrent requests is limited. A queue uses no slot while it waits.
// Each subscription has a circuit breaker, which is stored in the row of the subscription.
//
// A claim has a lease (see package lease). The owner of the lease is the name of the sender, plus a
// number that only this claim uses. The owner is a fencing token: the result of a lost claim
// changes no delivery and no counter, even if the same sender has claimed the delivery again.
//
// A request uses the subscription as it is when the request begins, not as it was when the
// delivery was claimed. The queue therefore reads the subscription again (queues.current).
//
// The package uses the URLs and counters of subscriptions, but not their rules. Transactions
// lock subscriptions before deliveries.
//
// Spec: interface 2.7, 4.4, 6.2.
package delivery
