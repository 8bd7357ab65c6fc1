// Package limits contains the packages that limit the resources of a process: the memory of
// requests, the number of running requests of a member, and the number of client connections.
//
// Nothing here depends on the content of a request. Start with package memory: a request
// reserves bytes before it allocates them.
package limits
