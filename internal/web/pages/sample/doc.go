// Package sample has the pages that welcome users of a new service: a sample project, and a
// webhook receiver that shows its events.
//
// Spec: interface 4.15.
package sample
