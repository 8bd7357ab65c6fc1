// Package delivery brings frozen payloads to the receivers of webhooks: what is
// due is claimed, posted, judged and settled, and every attempt leaves a receipt.
//
// A delivery travels like this:
//
//	Insert (row, waiting) --claim--> lane --POST--> judge --group--> row settled, receipt
//
// The rows are the queue of record. A claim carries the name of one sender, used
// only once, and a lease on the database's clock: a dead sender's work is free
// when the lease ends, and what a sender does after it lost a lease has no
// effect. One sender at a time has a lane per subscription and sends its
// deliveries in order; a lane that waits holds no slot.
//
// It knows the addresses and counts of subscriptions but never what they want.
// Locks are taken in this order: subscription, delivery.
//
// Spec: interface 2.7, 6.2; compat 9, 20 to 24.
package delivery
