// Package assets makes the pages about one asset: what is known of it, its history and activity, and what may be done with it.
//
// Spec: interface 4.14.
package assets
