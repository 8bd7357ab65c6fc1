package bulk

import (
	"context"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/base/fault"
)

// maxDenials is the largest number of denied commands of one request that get an audit event of
// their own. One more event counts the other denied commands.
const maxDenials = 16

// refusals has the denied commands of a request.
type refusals struct {
	events []trail.Event
	more   int // number of denied commands after the first maxDenials
}

// add adds a failed step if err is fault.Denied.
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

// route is the method and path of bulk requests in audit events.
const route = "POST api/asset"

// noteDenials records the denied commands of a request in the audit trail. The caller calls it
// after the commit, so that a retry of the transaction records nothing twice.
func (e *Engine) noteDenials(ctx context.Context, who auth.Actor, res *result) {
	for _, x := range res.refused.events {
		x.Actor = who.Member
		e.Audit.Note(ctx, x)
	}
	if n := res.refused.more; n > 0 {
		e.Audit.Note(ctx, trail.Event{
			Kind: trail.Denied, Actor: who.Member, Count: n, Detail: trail.Detail{Request: route, Various: true},
		})
	}
}

// noteDenial records an asynchronous request in the audit trail if it was denied as a whole.
func (e *Engine) noteDenial(ctx context.Context, err error) {
	if fault.KindOf(err) == fault.Denied {
		e.Audit.Note(ctx, trail.Event{Kind: trail.Denied, Detail: trail.Detail{Request: route, Reason: fault.Public(err)}})
	}
}
