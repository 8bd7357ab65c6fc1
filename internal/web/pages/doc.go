// Package pages joins the pages for people. Each package below it makes those about one
// thing, on what ui has for all of them.
//
// Spec: interface 4.15.
package pages
