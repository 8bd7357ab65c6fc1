// Package activity lists the changes of an asset and its parts. It reads them from the
// versions and stores nothing. Package change computes the difference of two versions, as for
// events.
//
//	Oid, parameters --> keys: asset, moment, moment before     by the keys of asset_version
//	keys  --change--> steps --differ--> changes
//	steps --judge--> items: verb, object, targets              what the caller may see now
//
// An asset with parts is called a whole. The model defines the relations to parts (see parts.go).
// The database finds keys in the order of their moments, so the number of versions that a request
// reads is about the number of items that it returns. A request for certain verbs examines at most
// maxExamined changes.
//
// An answer never contains a version, a value or a name that the caller could not read with an
// as-of query.
//
// Spec: interface 2.8, 4.5.
package activity
