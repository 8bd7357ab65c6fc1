// Package fault is the error type of alds: a kind that says who can fix the
// failure, a message for the caller, and the position in the caller's input.
//
// Engines return faults; three edges interpret them: the HTTP error writer turns a
// kind into a status, the bulk result into the failure of a command, and the queue
// decides whether to retry or to archive. An error without a kind is Internal, and
// never shown to a caller.
package fault
