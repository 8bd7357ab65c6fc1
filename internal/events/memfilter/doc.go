// Package memfilter evaluates filters on versions of assets in memory. Without it, a thousand
// subscriptions would need a thousand queries for every change.
//
//	definition --New--> Filter            once
//	versions   --Load--> Related          once per chunk: the assets they refer to
//	Filter, Input{version, related, actor} --Evaluate--> True, False or Unknown
//
// A filter is evaluated with the columns of an asset, with the columns of assets to which its
// to-one relations refer, and with the rights of a member to see these assets. If the result
// depends on any other data, it is Unknown, and the caller must query the database. A property test
// in package webhook compares the results with the results of the database.
//
// Spec: interface 6.1 (filter, with, userContext).
package memfilter
