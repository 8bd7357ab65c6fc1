// Package inbound bounds the connections of clients.
//
// A Listener continues when the process has no descriptor left, bounds the
// connections in all and of each address, and makes room by closing the connection
// that has been idle longest. A Conn knows whether it is idle, reports that its
// client has closed it, and closes so that the client can read the last answer: what it
// still sends is read and dropped, of a bounded number of clients.
//
// Proxies determines the address of a client behind trusted proxies.
package inbound
