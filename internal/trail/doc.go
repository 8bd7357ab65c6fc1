// Package trail is the audit that people read: who signed in, who was refused,
// and who changed what others may do, with when and from where. Each event is a
// row of audit_trail. What a write does to assets is in the table audit and in
// their versions, not here.
//
// Events that are part of a change are written in its transaction, so that
// neither is there without the other:
//
//	trail.Record(ctx, tx, trail.Event{Kind: trail.RoleGranted, …})
//
// Events that have no transaction (sign-ins, refused ones, denials) are noted in
// memory and written once a second. Equal ones are counted, of one source only so
// many are told apart, and the whole is bounded: a flood costs a few rows a
// minute.
//
//	log.Note(ctx, trail.Event{Kind: trail.Denied, …})   log.Run(ctx)
//
// Who acts, and from where, is in the context, put there by the edge that let the
// caller in (With).
//
// No event holds a password, a token, or a name that no member has.
//
// Spec: interface 4.9.
package trail
