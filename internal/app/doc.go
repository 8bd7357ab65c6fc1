// Package app builds the service, from the database up, and runs the roles of a process
// until it is stopped.
//
//	Run: settings → database → model → auth → engines → queue → listeners → roles
//
// A role is a list of parts, functions that run until their context ends. The
// first part that fails stops all. Stopping has steps, each of which waits for
// the one before: stop accepting and finish running work, send the last messages
// to the queue, close the queue and the database. All of it happens within the
// grace period.
//
// Nothing here is global: several services can run in one process, as in tests.
package app
