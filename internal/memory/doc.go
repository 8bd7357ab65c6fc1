// Package memory keeps the process within the memory it may use.
//
// A Budget is a number of bytes that requests share: who is about to hold many
// bytes takes them first and is refused when none are left, so that a request
// fails instead of the process. Each key, such as a member, gets at most half of
// it. A Hold is what one request has taken; it travels in the request's context
// and is released when the request ends.
//
// Limit finds how much the process may use: the smallest of the machine's memory
// and its control group's limit. Keep sets Go's own limit from it and gives
// memory back to the system after a load.
package memory
