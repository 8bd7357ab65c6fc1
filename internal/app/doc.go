// Package app builds the service once, in the order of its floors, and runs
// the roles a process was started for until it is told to stop.
//
//	Run: settings → database → model → auth → engines → queue → listeners → roles
//
// A role is a list of parts, functions that run until their context ends. The
// first part that fails stops all of them; stopping goes in steps, each waiting
// for the one before: stop accepting and finish what is running, hand the last
// hints to the queue, close the queue and the database. All of it happens
// within the grace period.
//
// Nothing here is global, so that several can run in one process, as tests do.
package app
