// Package inbound limits the connections of clients.
//
// A Listener limits the number of all connections and of the connections of each address. To
// make room it closes the connection that has been idle longest. It continues when the process
// has no descriptor left. A Conn reports whether it is idle, and whether its client has closed
// it. It closes in a way that the client can read the last answer: it first reads and drops
// what the client still sends. The number of connections that do so is limited.
//
// Proxies determines the address of a client behind trusted proxies.
package inbound
