// Package tags lists the tags and how often they are used, and merges and removes
// them on all assets at once. A tag exists only on assets that have it.
//
// Spec: interface 4.6.
package tags
