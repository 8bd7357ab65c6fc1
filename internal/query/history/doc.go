// Package history keeps the history of assets for a configured time, and removes older history.
//
// The horizon is a moment: the number of a change. Reads as of the horizon, or as of a later
// moment, are complete: rows that were valid at one of these moments are not removed. Rows are also
// not removed if the write engine or a current attribute still needs them.
//
// A read as of an earlier moment is an error (Horizon.check). If a version began before the horizon
// and was still valid at the horizon, its related assets are read as they were at the horizon.
//
//	advance: moves the horizon to a later moment, in one small transaction
//	step:    removes rows that ended at or before the horizon, a few versions at a time
//
// The horizon is stored before anything is removed. It is a row of the database, so a read finds
// the horizon and the assets in one snapshot. The horizon never moves back.
//
// Spec: interface 12.3.
package history
