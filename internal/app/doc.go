// Package app builds the service, from the database up, and runs the roles of a process
// until it is stopped.
//
//	Run: settings → admin listener → database and logins → HTTP listener → queue → engines → API → parts
//
// A role is a list of parts, which are functions that run until their context ends. The first
// part that fails stops all others. Stopping has three steps, one after the other: finish the
// running work, send the last messages to the queue, and stop the admin listener. They must
// end within the grace period. After that, the queue and the database are closed.
//
// Commands need only the database and the logins: Open returns an Installation. The running service
// contains an Installation, too.
//
// Several services can run in one process, as in tests.
package app
