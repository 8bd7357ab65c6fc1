// Package store is the folder of everything that outlives a process: the database, the
// contents of attachments, leases on rows, and the list of running processes.
//
// Nothing here depends on asset types or queries. Start with db: transactions and the differences
// between databases. Below db, package connection has the drivers, sqlerror interprets their
// errors, engine determines the kind of a server, and migrate changes the schema.
package store
