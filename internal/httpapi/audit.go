package httpapi

import (
	"context"
	"net/http"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/base/fault"
)

// Audit writes and reads the audit trail.
type Audit interface {
	Note(ctx context.Context, e trail.Event)
	Events(ctx context.Context, may trail.Sight, q trail.Query) (trail.Page, error)
}

// auditEvents serves GET api/audit. Spec: interface 4.9.
func (*API) auditEvents(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	p := r.params
	return encoded(r.engines.Audit.Events(ctx, trail.Sight{All: who.Admin, Scopes: who.Administers()}, trail.Query{
		Page: p["page"], After: p["after"], Kind: p["kind"], Actor: p["actor"], Member: p["member"], Project: p["project"],
		Since: p["since"], Until: p["until"],
	}))
}

// noteDenial adds a request that was refused with 403 to the audit trail, if its caller was
// authenticated.
func (a *API) noteDenial(ctx context.Context, x *exchange, err error) {
	if x.status != http.StatusForbidden || !x.authenticated {
		return
	}
	a.engines().Audit.Note(ctx, trail.Event{
		Kind: trail.Denied, Actor: x.who.Member, Address: x.client, Asset: x.asset,
		Detail: trail.Detail{Request: x.method + " " + x.route, Reason: withoutValues(fault.Public(err))},
	})
}
