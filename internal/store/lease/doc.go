// Package lease claims rows of a table for one worker for a limited time, so
// that several processes share a queue that is a table.
//
//	Claim --> the work, AutoRenew meanwhile --> Update (done), Release or Retry
//
// A claim writes the name of its owner into a row, and the end of its lease on
// the database's clock. When a worker dies, its leases end within seconds and
// other workers claim the rows. The owner is a condition of each write, so a
// worker that has lost a row changes nothing.
//
// A row counts its claims, except those that Release has ended. After many
// claims, the row probably always fails, or ends the process of each worker.
// GiveUp takes it out of the queue. Table.Pause delays further claims of the
// row, so that a worker can finish its other rows before the row ends the process.
package lease
