// Package encode turns the rows of plans into JSON bytes, appending as it goes.
// There are two encoders over the same rows: Rows, which query results, bulk
// results and webhook snapshots use, and Assets for the data path. They share
// nothing but how single values are written, so that a third form only adds
// one.
//
// A Set is what came back for one statement and a block of ids, as cells side
// by side; lists are indexes into the set of a branch. There is no map per row.
package encode
