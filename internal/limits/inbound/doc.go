// Package inbound limits the connections of clients.
//
// A Listener limits the number of all connections, and of the connections of each address. To make
// room it closes the connection that has been idle longest. It keeps running when the process has
// no free file descriptor. A Conn reports whether it is idle, and whether its client has closed it.
// Before a Conn closes, it reads and drops the data that its client still sends, so that the client
// can read the last answer. The number of connections that stay open for this is limited.
//
// Proxies determines the address of a client behind trusted proxies.
package inbound
