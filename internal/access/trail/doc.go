// Package trail is the audit trail for people. It records who signed in, whose sign-in was
// refused, and who changed the rights of others, when and from where. Each event is a row of
// audit_trail.
// Changes of assets are in the table audit and in their versions, not here.
//
// An event that belongs to a change is written in the transaction of that change. Therefore no
// change exists without its event, and no event without its change:
//
//	trail.Record(ctx, tx, trail.Event{Kind: trail.RoleGranted, …})
//
// Other events (sign-ins, refused sign-ins, denials) are noted in memory and written once a
// second. Equal events are counted and become one row. The number of different events is limited,
// in total and for one source, so a flood of events adds only a few rows a minute.
//
//	log.Note(ctx, trail.Event{Kind: trail.Denied, …})   log.Run(ctx)
//
// The context has the member who acts and the address. The code that authenticates the caller
// sets them (With).
//
// No event contains a password, a token, or a name that no member has.
//
// Spec: interface 4.9.
package trail
