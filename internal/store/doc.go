// Package store is the folder of everything that outlives a process: the database, the
// contents of attachments, leases on rows, and the list of running processes.
//
// Nothing here knows an asset type or a query. Start with db: transactions and the differences
// between databases. Below it, connection has the drivers, sqlerror their errors, engine the
// kinds of servers, and migrate the schema.
package store
