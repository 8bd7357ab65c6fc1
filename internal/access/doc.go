// Package access is the folder for access to alds: passwords and tokens, the caller of a
// request, the audit trail of sign-ins and rights, and stored secrets.
//
// Package asset, not this folder, decides whether a member may do a write; it uses the rights
// in the model. Start with package auth.
package access
