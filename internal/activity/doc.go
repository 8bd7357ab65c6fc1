// Package activity tells what happened to an asset and its parts, from the
// versions: nothing is stored for it. The difference of two versions is that of
// package change, as in events.
//
//	Oid, parameters --> keys: asset, moment, moment before     by the keys of asset_version
//	keys  --change--> steps --differ--> changes
//	steps --judge--> items: verb, object, targets              what the caller may see now
//
// A whole is an asset with parts: the relations that lead to parts follow from the
// model (parts.go). A key is found by moment, so a request reads about as many
// versions as it answers; with verbs it looks at no more than maxExamined.
//
// It never shows a version, a value or a name that the caller could not read by an
// as-of query.
//
// Spec: interface 2.8, 4.5.
package activity
