package auth

import (
	"context"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
)

// cachedActor is an actor that was read from the database.
type cachedActor struct {
	Actor
	changes int64  // see changesFor
	scopes  string // see keyOfScopes
}

// ActorOf returns the actor of a member with its current rights. member is a stored id. The
// rights may be maxAge old, but they include all changes by this process. For example, the
// creator of a project sees the project at once. Errors: fault.NotFound.
func (s *Service) ActorOf(ctx context.Context, member int64) (Actor, error) {
	return s.ActorWithin(ctx, member, nil)
}

// ActorWithin returns the actor of a member as ActorOf does, with only the rights that the bounds of
// an access token leave. b is nil if there are none. Errors: fault.NotFound.
func (s *Service) ActorWithin(ctx context.Context, member int64, b *Bounds) (Actor, error) {
	a, ok := s.actors.get(member)
	if !ok || a.changes != s.changesFor(a.Actor) {
		var err error
		if a, err = s.actorReads.do(ctx, member); err != nil {
			return Actor{}, err
		}
	}
	if b != nil {
		var err error
		if a, err = s.bounded(ctx, a, b); err != nil {
			return Actor{}, err
		}
	}
	a.Hidden, a.Members = s.hidden(ctx), s.membersOf(ctx, a)
	return a.Actor, nil
}

// changesFor returns the number of writes by this process that may have changed the rights of an
// actor. A System Admin already has all rights, and roles in projects add nothing. For a System
// Admin it therefore counts only the writes after which the member may have lost that role.
func (s *Service) changesFor(a Actor) int64 {
	if a.All {
		return s.adminChanges.Load()
	}
	return s.roleChanges.Load()
}

// readActors reads and caches the actors of members with their current rights. Deleted members
// are not in the result.
func (s *Service) readActors(ctx context.Context, members []int64) (map[int64]cachedActor, error) {
	roles, admins, began := s.roleChanges.Load(), s.adminChanges.Load(), s.now()
	read, err := s.readRights(ctx, members, db.Forever-1)
	if err != nil {
		return nil, err
	}
	found := make(map[int64]cachedActor, len(read))
	for member, has := range read {
		a := s.roles.actor(member, has)
		c := cachedActor{Actor: a, changes: roles, scopes: keyOfScopes(a.Scopes)}
		if a.All {
			c.changes = admins
		}
		s.actors.put(member, c, began)
		found[member] = c
	}
	return found, nil
}

// Proven is ActorOf for a login. It checks the login again if the login is older than shortWait.
// In this case the request has read a long body, or has waited for its turn.
// Errors: fault.Unproven if the login is no longer valid.
func (s *Service) Proven(ctx context.Context, l Login) (Actor, error) {
	if s.now().Sub(l.provenAt) >= shortWait {
		if err := s.checkLogin(ctx, l, watchEvery); err != nil {
			return Actor{}, err
		}
	}
	a, err := s.ActorWithin(ctx, l.Member, l.bounds)
	if !l.session {
		a.Token, a.Application = l.tokenID, l.tokenName
	}
	return a, gone(err)
}

// ActorAt returns the actor of a member with its rights at a moment.
// Errors: fault.NotFound if the member did not exist then.
func (s *Service) ActorAt(ctx context.Context, member, moment int64) (Actor, error) {
	read, err := s.readRights(ctx, []int64{member}, moment)
	if err != nil {
		return Actor{}, err
	}
	has, ok := read[member]
	if !ok {
		return Actor{}, fault.NotFoundf("no such member")
	}
	a := s.roles.actor(member, has)
	if a.At = moment; a.AllMembers() {
		return a, nil
	}
	list, err := s.readMembers(ctx, a.Scopes, moment)
	a.Members = withMember(list, member)
	return a, err
}

// Steady reports whether the rights of a member were the same at all moments between from and
// to. It may return false although nothing has changed for the member; see rightsChanged.
func (s *Service) Steady(ctx context.Context, member, from, to int64) (bool, error) {
	if from >= to {
		return true, nil
	}
	changed, err := rightsChanged(ctx, s.db, member, from, to)
	return !changed, err
}
