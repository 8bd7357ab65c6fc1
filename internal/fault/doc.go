// Package fault is the one error type of alds: a kind that says who can fix
// the failure, a message meant for the caller, and the place in the caller's
// input.
//
// Engines return faults; exactly three edges interpret them: the HTTP error
// writer turns a kind into a status, the bulk result turns it into a command
// failure, and the queue decides between again and set aside. An error that
// nobody classified is Internal, so it is never shown to a caller.
package fault
