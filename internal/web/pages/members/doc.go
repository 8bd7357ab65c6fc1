// Package members has the pages about members, their roles in projects, and the audit.
//
// Spec: interface 4.8, 4.9.
package members
