// Package pages combines all pages for people. Each package below it has the pages about one
// topic and uses ui.
//
// Spec: interface 4.15.
package pages
