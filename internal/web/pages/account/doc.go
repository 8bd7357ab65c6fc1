// Package account makes the pages about signing in and out, the reader's own profile, and the applications that act for it.
//
// Spec: interface 5.3, 5.8.3, 5.9.
package account
