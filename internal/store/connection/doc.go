// Package connection opens pools of connections to a server of MySQL or MariaDB, or to a SQLite
// file. Its connections are those of the drivers, with what the drivers lack:
//
//   - Statements of one table are prepared and cached. Statements of several tables, and those of
//     a Packet, are sent to a server as text.
//   - When a context ends, the statement ends: the server gets a KILL, SQLite an interrupt.
//   - A server ends the transactions of a process that has stopped. It keeps those of a process
//     that computes, because the keeper sends a statement in time.
//   - A transaction on a server begins in the packet of its first statement.
//
// Only this package opens connections. It returns the errors of the drivers.
package connection
