package auth

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// Writes says how requests with an access token may write.
type Writes string

// The values of Writes.
const (
	AllWrites      Writes = ""          // as the member may
	PlannedWrites  Writes = "plans"     // only by carrying out plans
	ProposedWrites Writes = "proposals" // only by keeping plans as proposals, for others to carry out
	NoWrites       Writes = "none"
)

// Way is the way in which a request writes.
type Way int

// The ways: with its own commands, by carrying a plan out, by keeping a plan as a proposal.
const (
	Directly Way = iota
	ByPlan
	ByProposal
)

// Bounds are the limits of an access token. They take rights away from the member and never give
// any. nil: the token may do all that its member may do. The JSON form is stored.
// Spec: interface 5.10.
type Bounds struct {
	Writes    Writes  `json:"writes,omitempty"`
	NoDeletes bool    `json:"noDeletes,omitempty"` // true: nothing may be deleted
	Projects  []int64 `json:"projects,omitempty"`  // stored ids; the token reads and writes only in these projects and below; nil: in all
	// Types has the names of the types that the token writes, and of which it reads assets that
	// belong to projects. A type includes the types below it. nil: all types.
	Types      []string       `json:"types,omitempty"`
	Addresses  []netip.Prefix `json:"addresses,omitempty"` // networks from which the token is accepted; nil: all
	MaxChanges int            `json:"changes,omitempty"`   // limit of the changes of one request; 0: none
	MaxHourly  int            `json:"hourly,omitempty"`    // limit of the changes within an hour; 0: none
}

// LimitsReading reports whether the bounds hide assets that the member may read.
func (b *Bounds) LimitsReading() bool { return b != nil && (b.Projects != nil || b.Types != nil) }

// Reads reports whether the bounds allow reading assets of a type.
func (b *Bounds) Reads(t *meta.Type) bool {
	return b == nil || t.IsReadWith(b.Types)
}

// Changes reports whether the bounds allow changing assets of a type. What belongs to the whole
// system, such as members and lists, is never changed with a token that has bounds.
func (b *Bounds) Changes(t *meta.Type) bool {
	return b == nil || (t.Rights.Kind == nil || !t.Rights.Kind.System) && (b.Types == nil || t.IsOneOf(b.Types))
}

// Write returns an error if the bounds forbid a request that writes in some way.
// Errors: fault.Denied.
func (b *Bounds) Write(way Way) error {
	switch {
	case b == nil || b.Writes == AllWrites || b.Writes == PlannedWrites && way != Directly || b.Writes == ProposedWrites && way == ByProposal:
		return nil
	case b.Writes == PlannedWrites:
		return fault.Deniedf("The access token writes only by plans")
	case b.Writes == ProposedWrites:
		return fault.Deniedf("The access token may only propose")
	}
	return fault.Deniedf("The access token may only read")
}

// CheckChanges returns an error if a request, or an hour, has more changes than the bounds allow. inHour includes
// the changes of the request.
// Errors: fault.Denied.
func (b *Bounds) CheckChanges(request, inHour int) error {
	switch {
	case b == nil:
	case b.MaxChanges > 0 && request > b.MaxChanges:
		return fault.Deniedf("The access token makes at most %d changes with one request", b.MaxChanges)
	case b.MaxHourly > 0 && inHour > b.MaxHourly:
		return fault.Deniedf("The access token makes at most %d changes in an hour", b.MaxHourly)
	}
	return nil
}

// accepts reports whether a token with these bounds is accepted from an address. An unknown address
// is accepted only if the bounds name no networks.
func (b *Bounds) accepts(address string) bool {
	if b == nil || b.Addresses == nil {
		return true
	}
	a, err := netip.ParseAddr(address)
	a = a.Unmap().WithZone("")
	return err == nil && slices.ContainsFunc(b.Addresses, func(p netip.Prefix) bool { return p.Contains(a) })
}

// bounded returns an actor with the rights that the bounds of its token leave.
func (s *Service) bounded(ctx context.Context, a cachedActor, b *Bounds) (cachedActor, error) {
	had := a.Actor
	if a.Bounds = b; !b.LimitsReading() {
		return a, nil
	}
	scopes := had.Scopes
	if b.Projects != nil || had.All {
		var err error
		if scopes, err = s.scopesBelow(ctx, b.Projects); err != nil {
			return a, err
		}
	}
	a.Admin, a.All, a.System, a.Held = false, false, meta.NoAccess, 0
	a.AllWithin = had.All
	a.Scopes, a.Roles = make([]int64, 0, len(scopes)), make([]meta.Role, 0, len(scopes))
	for _, scope := range scopes {
		if role := had.RoleIn(scope); role != meta.NoAccess {
			a.Scopes, a.Roles = append(a.Scopes, scope), append(a.Roles, role)
			a.Held |= meta.RolesOf(role)
		}
	}
	a.scopes = keyOfScopes(a.Scopes)
	return a, nil
}

// belowScopes has the scopes at or below some scopes.
type belowScopes struct {
	scopes  []int64 // ascending
	changes int64   // value of Service.roleChanges before the read
}

// scopesBelow returns the stored ids of the scopes at or below some scopes, ascending. nil: all
// scopes. The data may be maxAge old, but it includes all changes by this process.
func (s *Service) scopesBelow(ctx context.Context, above []int64) ([]int64, error) {
	if above == nil {
		above = []int64{rootScope}
	}
	k := keyOfScopes(above)
	c, ok := s.below.get(k)
	if ok && c.changes == s.roleChanges.Load() {
		return c.scopes, nil
	}
	c, err := s.belowReads.do(ctx, memberRead{k, s.roleChanges.Load()}, func(ctx context.Context) (belowScopes, error) {
		c, began := belowScopes{changes: s.roleChanges.Load()}, s.now()
		for in, args := range db.InChunks(above) {
			ids, err := db.Column[int64](ctx, s.db, `SELECT descendant_id FROM scope_closure WHERE until_moment = ? AND ancestor_id IN `+in,
				append([]any{db.Forever}, args...)...)
			if err != nil {
				return c, fmt.Errorf("read the projects of a token: %w", err)
			}
			c.scopes = append(c.scopes, ids...)
		}
		slices.Sort(c.scopes)
		c.scopes = slices.Compact(c.scopes)
		s.below.put(k, c, began)
		return c, nil
	})
	return c.scopes, err
}
