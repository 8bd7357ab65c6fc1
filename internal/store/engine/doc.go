// Package engine finds out what a database server is: its name and version, its place in a cluster,
// and whether it accepts writes.
//
// It identifies a server by its variables. Everything except Find and Refusal is computed from
// these variables. So the tests also cover servers that a test cannot start.
package engine
