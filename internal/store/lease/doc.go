// Package lease claims rows of a table for one worker for a limited time, so
// that several processes share a queue that is a table.
//
//	Claim --> the work, AutoRenew meanwhile --> Update (done), Release or Retry
//
// A claim writes into a row the name of its owner and the end of its lease, by the clock of the
// database. When a worker dies, its leases end within seconds and other workers claim the rows. The
// owner is a condition of each write, so a worker that has lost a row changes nothing.
//
// A row counts its claims, except those that Release has ended. If a row was claimed many times,
// its work probably always fails, or crashes the process of each worker. GiveUp removes such a row
// from the queue. Table.Pause delays further claims of the row, so that a worker can finish its
// other rows before the row crashes the process again.
package lease
