// Package lease claims rows of a table for one worker for a limited time, so
// that several processes share a queue that is a table.
//
//	Claim --> the work, AutoRenew meanwhile --> Update (done), Release or Retry
//
// A claim writes the name of its owner into a row, and the end of its lease on
// the database's clock. When a worker dies its leases end within seconds and
// other workers claim the rows. The owner is the fence: it is a condition of
// each write, so that a worker that lost a row changes nothing.
//
// A row counts its claims that did not end. GiveUp takes rows out of the queue
// that were claimed too often; a row like this ends the process of its worker.
// Table.Pause keeps it away from what runs beside it.
package lease
