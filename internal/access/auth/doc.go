// Package auth authenticates callers and resolves what they may read.
//
// A request has a username and password (Basic) or an access token (Bearer). Both result in an
// Actor: a plain value with the member and the scopes (projects) that the member may read. All
// code that reads or writes assets for a caller gets the caller's Actor.
//
// Passwords are stored as argon2id hashes. Access tokens have 256 random bits and are stored as
// SHA-256 hashes. argon2id is slow on purpose, so a verified password is cached under a keyed
// hash. A cached password is only valid for one version of the credential. The version is read
// from the database again if the last read is older than maxAge. All caches are bounded.
//
// A password that is not cached passes a throttle. The throttle delays it if the same pair of
// member and network has sent wrong passwords before. Then the password waits for a hash slot.
// Logins with unknown usernames have a separate queue, so that they cannot block members:
//
//	Basic -> throttle (per pair) -> hashSlots (members | unknown names | new passwords) -> argon2id
//
// Members create tokens for themselves. A session is a token for the browser. It can only be
// created with the password, and it is revoked when the password changes.
//
// A role in a scope also applies to the scopes below. If a member has several roles that apply to
// a scope, the role in the nearest scope counts. A System Admin reads everything.
//
// The package never logs a password, a token or a hash.
//
// Spec: interface 5.
package auth
