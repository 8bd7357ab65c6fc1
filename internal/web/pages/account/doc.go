// Package account has the pages for sign-in and sign-out, and for the reader's profile and
// access tokens. Applications use these tokens to act for the reader.
//
// Spec: interface 5.3, 5.8.3, 5.9.
package account
