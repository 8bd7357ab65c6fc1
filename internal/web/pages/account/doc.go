// Package account has the pages for sign-in and sign-out, the profile of the reader, and the
// access tokens of applications that act for the reader.
//
// Spec: interface 5.3, 5.8.3, 5.9.
package account
