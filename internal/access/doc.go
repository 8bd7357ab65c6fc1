// Package access is the folder of who may do what: passwords and tokens, the caller of a
// request, the audit log of sign-ins and rights, and stored secrets.
//
// Nothing here decides about a single write; package asset does, by the rights in the
// model. Start with auth.
package access
