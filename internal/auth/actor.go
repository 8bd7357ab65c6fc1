package auth

// SystemMember is the member on whose behalf the server itself acts.
const SystemMember int64 = 20

// Actor is the one on whose behalf a request reads and writes: a member and
// what that member may see. It is a plain value, resolved once per request.
type Actor struct {
	// Member is the stored id of the member.
	Member int64
	// Admin says the member administers the whole system.
	Admin bool
	// All says the member reads every scope; Scopes is nil then.
	All bool
	// Scopes holds the stored ids of the readable scopes, ascending, those
	// reached by inheritance down the scope tree included.
	Scopes []int64
	// Hidden is the projects that are hidden from everybody. Nil: not known, the
	// caller reads them.
	Hidden *Hidden
}

// Hidden is the projects that are deleted or below a deleted one, and so are hidden
// with everything in them.
type Hidden struct {
	Now  []int64 // stored ids of those that are
	Ever bool    // there are or were some
}

// System is the actor for the server's own work: it sees everything.
var System = Actor{Member: SystemMember, Admin: true, All: true}
