// Package memory limits the memory of the process.
//
// A Budget is a number of bytes that requests share. A request reserves bytes before it allocates
// them. If too few bytes are free, the request is refused, so that the process does not run out of
// memory. A key, such as a member, gets at most half of the budget. A Hold is the reservation of
// one request. The context of the request carries it.
//
// Limit returns how much memory the process may use. SetLimit sets Go's memory limit. ReturnUnused
// returns unused memory to the system after a time of high load.
package memory
