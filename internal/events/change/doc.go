// Package change derives the differences that a write made. It compares version n of an asset
// with version n-1, including the relation values that began or ended at its moment.
// Differences are not stored.
//
// A Version is one row of asset_version. A Step is a Version with the previous one and the
// Edges (relation and multi-value rows) that the write began or ended. Diff is pure and turns
// a Step into Changes:
//
//	Status    Set      old: nil      new: ref 134
//	Owners    Added                  new: ref 20
//	Owners    Removed  old: ref 1005
//
// The package neither prints values nor decides who may see them.
//
// Spec: interface 6.2 (changes).
package change
