// Package tags answers which tags there are and how often they are used, and
// merges and removes them everywhere at once. Tags exist only on their assets:
// a tag nobody uses is gone.
//
// Spec: interface 4.6.
package tags
