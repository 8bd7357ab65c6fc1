// Package inbound keeps the connections of clients within bounds.
//
// A Listener goes on when the process has no descriptor left, bounds the
// connections in all and of each address, and makes room by closing the
// connection that has been idle longest, so that a flood of connections ends the
// flood and not the service. A Conn knows whether it is idle, tells when its
// client has gone, and closes so that the client can read the last answer.
//
// Proxies finds the address of a client behind trusted proxies.
package inbound
