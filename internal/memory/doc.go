// Package memory bounds the memory of the process.
//
// A Budget is a number of bytes that requests share. A request reserves bytes
// before it allocates them and is refused when too few are left, so that the
// request fails and not the process. A key, such as a member, gets at most half of
// the budget. A Hold is the reservation of one request; its context carries it.
//
// Limit returns how much the process may use. SetLimit sets Go's memory limit, and
// ReturnUnused returns memory to the system after a load.
package memory
