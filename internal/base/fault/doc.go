// Package fault is the error type of alds. A fault has a kind that says who can fix the
// failure, a message for the caller, and the position in the caller's input.
//
// All packages below the HTTP layer return faults. Three places interpret them. The HTTP error
// writer converts a kind to a status. The bulk result converts a fault to the failure of a command.
// The queue retries or archives a task. An error without a kind is Internal, and is never shown to
// a caller.
package fault
