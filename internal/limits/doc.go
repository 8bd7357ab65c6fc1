// Package limits is the folder of what a process may hold and run at a time: memory of
// requests, turns of members, and connections of clients.
//
// Nothing here knows what a request asks for. Start with memory: a request reserves the
// bytes it needs before it needs them.
package limits
