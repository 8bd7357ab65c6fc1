// Package history keeps the history of assets for as long as an installation wants to,
// and removes what is older.
//
// The horizon is a moment. What was at the horizon, and at every later moment, is read
// as ever: no row is removed that held at some moment from the horizon on, nor one that
// the write engine or an attribute of today still looks at. A read of a time before the
// horizon is refused (Horizon.Check), and versions that began before it and held at it
// are read with what was around them at the horizon.
//
//	advance: the horizon goes on to a later moment, in one small transaction
//	step:    what ended up to the horizon goes, some versions at a time
//
// The horizon is stored before anything is removed, in the table that all processes
// read, so that a read finds horizon and rows in one snapshot. It never goes back.
//
// Spec: interface 12.3.
package history
