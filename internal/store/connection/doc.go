// Package connection opens pools of connections to a server of MySQL or MariaDB, or to a SQLite
// file. Its connections are connections of the drivers, with these additions:
//
//   - A statement that uses one table is prepared and cached. A statement that uses several tables,
//     and the statements of a Packet, are sent to a server as text.
//   - When the context of a statement ends, the statement is stopped: by KILL on a server, by an
//     interrupt in SQLite.
//   - A server ends the open transactions of a process that has stopped. While a process only
//     computes, its keeper sends statements, so that the server does not end its transactions.
//   - The statement that begins a transaction on a server is sent in the same packet as the first
//     statement of the transaction.
//
// Only this package opens connections. It returns the errors of the drivers.
package connection
