// Package limits is the folder of the limits of a process: the memory of requests, the number
// of running requests of a member, and the number of connections of clients.
//
// Nothing here depends on the content of a request. Start with package memory: a request
// reserves bytes before it allocates them.
package limits
