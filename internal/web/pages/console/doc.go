// Package console has the pages that run, preview or explain queries and commands.
//
// Spec: interface 4.3.
package console
