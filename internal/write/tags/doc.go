// Package tags lists the tags with their counts. It also merges and removes tags on all assets
// at once. A tag only exists on assets that have it.
//
// Spec: interface 4.6.
package tags
