package event

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
)

// perActor calls fn with the events of a predicate, and with the actor of its userContext. The
// events are split into sequences in which the actor had the same rights; fn is called once for
// each. Events at which the member did not exist are skipped. Without a userContext, fn is called
// once, with auth.System.
func (m *Matcher) perActor(ctx context.Context, p *predicate, fn func(auth.Actor, []*Event) error) error {
	if !p.rule.hasContext {
		return fn(auth.System, p.events)
	}
	from, to := p.events[0].Step.Now.Moment, p.events[len(p.events)-1].Step.Now.Moment
	steady, err := m.actors.Steady(ctx, p.rule.member, from, to)
	if err != nil {
		return err
	}
	for events := p.events; len(events) > 0; {
		who, n, err := m.sameRights(ctx, p.rule.member, events, steady)
		if err != nil {
			return err
		}
		if who != nil {
			if err := fn(*who, events[:n]); err != nil {
				return err
			}
		}
		events = events[n:]
	}
	return nil
}

// sameRights returns the actor with its rights at the first event, and the number of events, from
// the first on, at which the rights were the same. If steady is true, the rights were the same at
// all events.
func (m *Matcher) sameRights(ctx context.Context, member int64, events []*Event, steady bool) (who *auth.Actor, n int, err error) {
	if who, err = m.actor(ctx, member, events[0]); err != nil || steady {
		return who, len(events), err
	}
	for n = 1; n < len(events); n++ {
		next, err := m.actor(ctx, member, events[n])
		if err != nil {
			return nil, 0, err
		}
		if !same(who, next) {
			break
		}
	}
	return who, n, nil
}

// actor returns a member as an actor, with its rights at the moment of an event. It returns nil if
// the member did not exist.
func (m *Matcher) actor(ctx context.Context, member int64, e *Event) (*auth.Actor, error) {
	who, err := m.actors.ActorAt(ctx, member, e.Step.Now.Moment)
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil //nolint:nilnil // nil: the member did not exist
	}
	return &who, err
}

func same(a, b *auth.Actor) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Member == b.Member && a.System == b.System && a.All == b.All && slices.Equal(a.Scopes, b.Scopes) && slices.Equal(a.Roles, b.Roles) &&
		a.AllMembers() == b.AllMembers() && (a.Members == nil) == (b.Members == nil) && slices.Equal(a.Members, b.Members)
}
