// Package console makes the pages about a query or commands that are run, previewed or explained.
//
// Spec: interface 4.3.
package console
