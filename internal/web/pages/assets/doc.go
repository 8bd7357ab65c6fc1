// Package assets has the pages about one asset: its values, comments, history and activity, its
// forms, and its operations. It also has the forms of new assets.
//
// Spec: interface 4.14.
package assets
