// Package activity lists the changes of an asset and its parts. It reads them from the
// versions and stores nothing. Package change computes the difference of two versions, as for
// events.
//
//	Oid, parameters --> keys: asset, moment, moment before     by the keys of asset_version
//	keys  --change--> steps --differ--> changes
//	steps --judge--> items: verb, object, targets              what the caller may see now
//
// A whole is an asset with parts. The relations to parts come from the model (parts.go). A key
// is found by moment, so a request reads about as many versions as it returns. With verbs it
// examines at most maxExamined.
//
// It never shows a version, a value or a name that the caller could not read with an as-of
// query.
//
// Spec: interface 2.8, 4.5.
package activity
