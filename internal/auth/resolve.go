package auth

import (
	"context"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
)

// cachedActor is an actor and what this process had changed before it was read.
type cachedActor struct {
	Actor
	changes int64 // writes that changed roles
}

// ActorOf resolves a member, by stored id, to what they may see now. The answer
// may be half a second old; what this process changed counts at once, so that the
// creator of a project sees it. Errors: fault.NotFound.
func (s *Service) ActorOf(ctx context.Context, member int64) (Actor, error) {
	a, ok := s.actors.get(member)
	if !ok || !a.All && a.changes != s.roleChanges.Load() {
		var err error
		if a, err = s.readActor(ctx, member); err != nil {
			return Actor{}, err
		}
	}
	a.Hidden, a.Members = s.hidden(ctx), s.membersOf(ctx, a.Actor)
	return a.Actor, nil
}

// readActor reads and caches what a member may see now. Errors: fault.NotFound.
func (s *Service) readActor(ctx context.Context, member int64) (cachedActor, error) {
	changes, began := s.roleChanges.Load(), s.now()
	a, err := s.rightsAt(ctx, member, db.Forever-1)
	if err != nil {
		return cachedActor{}, err
	}
	c := cachedActor{a, changes}
	s.actors.put(member, c, began)
	return c, nil
}

// Proven is ActorOf for a login. One that was proven before a long body or a wait
// for the request's turn is checked again.
// Errors: fault.Unproven when it no longer counts.
func (s *Service) Proven(ctx context.Context, l Login) (Actor, error) {
	if s.now().Sub(l.provenAt) >= shortWait {
		if err := s.checkLogin(ctx, l, watchEvery); err != nil {
			return Actor{}, err
		}
	}
	a, err := s.ActorOf(ctx, l.Member)
	return a, gone(err)
}

// ActorAt resolves a member to what they were allowed to see at a moment.
// Errors: fault.NotFound when there was no such member then.
func (s *Service) ActorAt(ctx context.Context, member, moment int64) (Actor, error) {
	a, err := s.rightsAt(ctx, member, moment)
	if a.At = moment; err != nil || a.AllMembers() {
		return a, err
	}
	a.Members, err = s.readMembers(ctx, s.db, a)
	return a, err
}

// rightsAt is ActorAt without the members that are seen.
func (s *Service) rightsAt(ctx context.Context, member, moment int64) (Actor, error) {
	var has rights
	err := s.db.Read(ctx, func(tx *db.Tx) error {
		var err error
		has, err = s.readRights(ctx, tx, member, moment)
		return err
	})
	if err != nil {
		return Actor{}, err
	}
	if has.deleted {
		return Actor{}, fault.NotFoundf("no such member")
	}
	return s.roles.actor(member, has), nil
}

// Steady reports whether a member's rights were the same at every moment from
// one to another.
func (s *Service) Steady(ctx context.Context, member, from, to int64) (bool, error) {
	if from >= to {
		return true, nil
	}
	changed, err := rightsChanged(ctx, s.db, member, from, to)
	return !changed, err
}
