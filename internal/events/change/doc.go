// Package change computes the differences that a write made. It compares version n of an asset with
// version n-1. It also reads the relation values that began or ended at the moment of version n.
// Differences are not stored.
//
// A Version is one row of asset_version. A Step consists of a Version, the previous Version, and
// the Edges (rows of relations and multi-value attributes) that the write began or ended. Diff
// needs no database. It turns a Step into Changes:
//
//	Status    Set      old: nil      new: ref 134
//	Owners    Added                  new: ref 20
//	Owners    Removed  old: ref 1005
//
// The package does not print values, and does not decide who may see them.
//
// Spec: interface 6.2 (changes).
package change
