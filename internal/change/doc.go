// Package change turns what a write left behind into differences: version n of
// an asset against version n-1, together with the relation values that began
// or ended at its moment. Differences are derived, never stored; webhooks and
// the activity stream use the same function.
//
// Words: a Version is one row of asset_version. A Step is a Version with the
// one before it and the Edges (relation and multi-value rows) that the write
// began or ended. Diff is pure and turns a Step into Changes:
//
//	Status    Set      old: nil      new: ref 134
//	Owners    Added                  new: ref 20
//	Owners    Removed  old: ref 1005
//
// Nothing here knows how a value is printed, who may see it, or who asked.
//
// Spec: interface 6.2 (changes).
package change
