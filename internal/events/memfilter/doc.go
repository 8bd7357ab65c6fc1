// Package memfilter evaluates filters on versions in memory, so that a thousand
// subscriptions do not need one query each for every change.
//
//	definition --New--> Filter            once
//	versions   --Load--> Related          once per chunk: the assets they refer to
//	Filter, Input{version, related, actor} --Evaluate--> True, False or Unknown
//
// A filter is evaluated on the columns of an asset, on the columns of assets that its to-one
// relations refer to, and on the rights of a member to see these assets. If the result depends
// on anything else, it is Unknown, and the caller must query the database. A property test of
// package webhook compares the results with those of the database.
//
// Spec: interface 6.1 (filter, with, userContext).
package memfilter
