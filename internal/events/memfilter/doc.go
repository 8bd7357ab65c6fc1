// Package memfilter evaluates filters on versions in memory, so that a thousand
// subscriptions do not need one query each for every change.
//
//	definition --New--> Filter            once
//	versions   --Load--> Related          once per chunk: the assets they refer to
//	Filter, Input{version, related, actor} --Evaluate--> True, False or Unknown
//
// It knows the columns of an asset and of the assets one to-one relation away,
// and whether a member may see both. For the rest the answer is Unknown, and the
// caller asks the database. A property test of package webhook compares its
// answers with those of the database.
//
// Spec: interface 6.1 (filter, with, userContext).
package memfilter
