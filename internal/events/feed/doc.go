// Package feed returns all changes in one order, page by page, for clients that cannot receive
// webhooks.
//
// Changes are in the order of the positions of their writes. A write gets its position when a
// client reads, not when the write is committed. When a client reads, a Log assigns positions,
// under a lock, to the committed writes that have no position. So a write that is committed late
// comes after every cursor that clients have. While no client reads, no positions are assigned.
//
//	audit 71, last moment 1260 -> position 1260
//	audit 73, last moment 1271 -> position 1271
//	audit 72, last moment 1265 -> position 1272: committed after 73 had its position
//
// The writes of one asset stay in order. The second write gets its moments after the first write is
// committed, so its last moment is greater. The second write is never visible without the first.
//
// A Service reads pages of the feed with one model of assets. A process has one Log, which polls
// for new changes for all waiting requests.
//
// Spec: interface 4.12.
package feed
