// Package auth authenticates callers and resolves what they may read.
//
// A request carries a username and password (Basic) or an access token
// (Bearer). Both result in an Actor: a plain value with the member and the scopes
// that member reads, which every engine takes as an argument.
//
// Passwords are stored as argon2id hashes and access tokens as SHA-256 of 256
// random bits. Because argon2id is slow on purpose, a verified password is cached
// under a keyed hash; it counts only for the version of the credential in the
// database, which was read at most a second ago. Every table in memory is bounded.
//
// A password that is not cached passes a throttle, which delays it after wrong
// passwords of the same pair of member and network, and then waits for one of the
// hash slots, in a queue that unknown names cannot fill:
//
//	Basic -> throttle (per pair) -> hashSlots (members | unknown names | new passwords) -> argon2id
//
// Members make tokens for themselves. A session is a token that is made with the
// password alone, for a page, and ends with it.
//
// Permissions: a role held in a scope applies to that scope and those below it,
// unless another role is held nearer. System Admin reads everything.
//
// It never logs or returns a password, a token or a hash.
//
// Spec: interface 5.
package auth
