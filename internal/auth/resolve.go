package auth

import (
	"context"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
)

// cachedActor is an actor and the number of commits before it was read.
type cachedActor struct {
	Actor
	commits int64
}

// ActorOf resolves a member, by stored id, to what they may see now. The answer
// may be a second old; writes of this process count at once, so that the creator
// of a project sees it. Errors: fault.NotFound.
func (s *Service) ActorOf(ctx context.Context, member int64) (Actor, error) {
	written := s.commits.Load()
	if a, ok := s.actors.get(member); ok && (a.All || a.commits == written) {
		a.Hidden = s.hidden(ctx)
		return a.Actor, nil
	}
	began := s.now()
	a, err := s.ActorAt(ctx, member, db.Forever-1)
	if err == nil {
		s.actors.put(member, cachedActor{a, written}, began)
		a.Hidden = s.hidden(ctx)
	}
	return a, err
}

// Proven is ActorOf for a caller that has just authenticated as the member.
// Errors: fault.Unproven when the member was deleted meanwhile.
func (s *Service) Proven(ctx context.Context, member int64) (Actor, error) {
	a, err := s.ActorOf(ctx, member)
	if fault.KindOf(err) == fault.NotFound {
		return Actor{}, fault.Unprovenf("The member no longer exists")
	}
	return a, err
}

// Committed is called after this process has committed a write, which may have
// changed rights.
func (s *Service) Committed() { s.commits.Add(1) }

// ActorAt resolves a member to what they were allowed to see at a moment.
// Errors: fault.NotFound when there was no such member then.
func (s *Service) ActorAt(ctx context.Context, member, moment int64) (Actor, error) {
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
