package bulk

import (
	"context"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/base/fault"
)

// maxDenials is how many denied commands of one request are told apart.
const maxDenials = 16

// refusals are the commands of a request that its member may not carry out.
type refusals struct {
	events []trail.Event
	more   int // beyond events
}

// add adds a failed step if it was denied.
func (d *refusals) add(s *step, err error) {
	if fault.KindOf(err) != fault.Denied {
		return
	}
	if len(d.events) == maxDenials {
		d.more++
		return
	}
	d.events = append(d.events, trail.Event{
		Kind: trail.Denied, Asset: s.from.Now(), Detail: trail.Detail{Request: route, Reason: fault.Public(err)},
	})
}

// route is the request that commands come in.
const route = "POST api/asset"

// noteDenials puts the denied commands of a request into the audit trail, once
// the database has taken the rest.
func (e *Engine) noteDenials(ctx context.Context, who auth.Actor, res *result) {
	for _, x := range res.refused.events {
		x.Actor = who.Member
		e.Audit.Note(ctx, x)
	}
	if n := res.refused.more; n > 0 {
		e.Audit.Note(ctx, trail.Event{Kind: trail.Denied, Actor: who.Member, Count: n, Detail: trail.Detail{Request: route, Various: true}})
	}
}

// noteDenial puts a request that was denied as a whole, while nobody waited for
// its answer, into the audit trail.
func (e *Engine) noteDenial(ctx context.Context, err error) {
	if fault.KindOf(err) == fault.Denied {
		e.Audit.Note(ctx, trail.Event{Kind: trail.Denied, Detail: trail.Detail{Request: route, Reason: fault.Public(err)}})
	}
}
