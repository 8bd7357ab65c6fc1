// Package auth proves who calls and says what they may see.
//
// A request carries a username and password (Basic) or an access token
// (Bearer). Both end as an Actor: a plain value with the member and the scopes
// that member reads, which every engine takes as an argument.
//
// Passwords are kept as argon2id hashes and access tokens as SHA-256 of 256
// random bits, so neither can be read back. Because argon2id is slow on
// purpose, a password that was verified once is remembered under a keyed hash;
// what is remembered counts only for the version of the credential that stands
// in the database, and that version is read at most a second ago. Every table
// this package keeps in memory is bounded.
//
// A password that is not remembered passes two places. At the first, slowdown,
// it waits for wrong ones of the same pair of member and network. At the second,
// turns, it waits for its check, in a line that strangers cannot fill:
//
//	Basic -> slowdown (by pair) -> turns (members | strangers | new passwords) -> argon2id
//
// Rights: a role that reads, held in a scope, reads that scope and those below
// it, until a nearer role says otherwise. System Admin reads everything.
//
// It never logs or returns a password, a token or a hash.
//
// Spec: interface 5.
package auth
