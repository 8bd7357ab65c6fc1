package webhook

import (
	"slices"

	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/fault"
)

// each asks on behalf of the wish's userContext, with the rights it had at the
// moments of the changes: at once when nothing changed between the first and
// the last, else for each stretch of events that it saw with the same rights. A
// member that was not there matches nothing.
func (m *matching) each(g *asked, ask func(auth.Actor, []*event) error) error {
	if !g.wish.hasContext {
		return ask(auth.System, g.events)
	}
	from, to := g.events[0].step.Now.Moment, g.events[len(g.events)-1].step.Now.Moment
	steady, err := m.w.actors.Steady(m.ctx, g.wish.member, from, to)
	if err != nil {
		return err
	}
	for rest := g.events; len(rest) > 0; {
		who, n, err := m.stretch(g.wish.member, rest, steady)
		if err != nil {
			return err
		}
		if who != nil {
			if err := ask(*who, rest[:n]); err != nil {
				return err
			}
		}
		rest = rest[n:]
	}
	return nil
}

// stretch returns what a member was allowed at the first event, and at how many
// of them it was the same.
func (m *matching) stretch(member int64, events []*event, steady bool) (who *auth.Actor, n int, err error) {
	if who, err = m.actor(member, events[0]); err != nil || steady {
		return who, len(events), err
	}
	for n = 1; n < len(events); n++ {
		next, err := m.actor(member, events[n])
		if err != nil {
			return nil, 0, err
		}
		if !same(who, next) {
			break
		}
	}
	return who, n, nil
}

// actor is what a member was allowed at an event's moment; nil when there was
// no such member.
func (m *matching) actor(member int64, e *event) (*auth.Actor, error) {
	who, err := m.w.actors.ActorAt(m.ctx, member, e.step.Now.Moment)
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil //nolint:nilnil // the caller takes nil for nobody
	}
	return &who, err
}

func same(a, b *auth.Actor) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Member == b.Member && a.Admin == b.Admin && a.All == b.All && slices.Equal(a.Scopes, b.Scopes)
}
