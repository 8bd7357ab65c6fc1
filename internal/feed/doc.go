// Package feed reads all changes in one order, page by page, for those who cannot
// be called.
//
// The order is that of positions, which a write gets when somebody asks, not when it
// is committed: a Log gives them, under a lock, to the committed writes that have
// none. So a write that is committed late comes behind every cursor that is out, and
// where nobody asks nothing is done.
//
//	audit 71, last moment 1260 -> position 1260
//	audit 73, last moment 1271 -> position 1271
//	audit 72, last moment 1265 -> position 1272: committed after 73 had its position
//
// Writes of one asset are in their order: the second one takes its moments after the
// first is committed, so its last moment is greater and it is not seen without the
// first.
//
// A Service reads pages by one model. A Log is one for a process: it looks for new
// changes on behalf of all who wait.
//
// Spec: interface 4.12.
package feed
