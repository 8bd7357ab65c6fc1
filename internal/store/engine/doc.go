// Package engine finds out what a database server is: its name and version, its place in a
// cluster, and whether it takes writes.
//
// It knows servers by their variables. Everything except Find and Refusal is a function of
// these variables, so servers that no test can start are tested too.
package engine
