// Package assets has the pages about one asset: its values, history and activity, its form,
// and its operations.
//
// Spec: interface 4.14.
package assets
