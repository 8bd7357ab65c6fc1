// Package tags lists the tags with their counts. It also merges and removes tags on all assets at
// once. A tag exists as long as at least one asset has it.
//
// Spec: interface 4.6.
package tags
