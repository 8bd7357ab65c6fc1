// Package home serves the first page, "My work", and the search.
//
// Spec: interface 4.15.
package home
