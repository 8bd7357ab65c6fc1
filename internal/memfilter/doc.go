// Package memfilter answers filters from versions that are in memory already, for
// those who would otherwise ask the database one question per filter: a thousand
// subscriptions, five hundred changes.
//
//	definition --New--> Filter          once
//	versions   --Load--> Near           once per chunk: what their relations lead to
//	Filter, View{version, Near, actor} --Decide--> Yes, No or Unsure
//
// It knows columns of the asset's own row and of assets one to-one relation
// away, and whether a member sees both. Everything else it leaves to SQL by
// saying Unsure, for the whole filter only where the rest does not decide it.
// What it answers is what SQL would say; a property test of package webhook
// holds the two together on both databases.
//
// Spec: interface 6.1 (filter, with, userContext).
package memfilter
