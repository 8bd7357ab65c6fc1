// Package memory limits the memory of the process.
//
// A Budget is a number of bytes that requests share. A request reserves bytes before it
// allocates them. If too few are left, the request is refused, so that the process does not
// fail. A key, such as a member, gets at most half of the budget. A Hold is the reservation
// of one request, and is carried by its context.
//
// Limit returns how much memory the process may use. SetLimit sets Go's memory limit.
// ReturnUnused returns memory to the system after a load.
package memory
