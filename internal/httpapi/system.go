package httpapi

import (
	"context"
	"net/http"

	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/system"
)

// System tells how the installation is, and checks its database.
type System interface {
	Status(ctx context.Context, who auth.Actor) (system.Status, error)
	Start(ctx context.Context, who auth.Actor) (system.State, error)
	Check(ctx context.Context, who auth.Actor) (system.State, error)
}

// systemStatus serves GET api/system. Spec: interface 4.16.
func (*API) systemStatus(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return encoded(r.engines.System.Status(ctx, who))
}

// startCheck serves POST api/system/check. Spec: interface 4.16.1.
func (*API) startCheck(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	r.status = http.StatusAccepted
	return encoded(r.engines.System.Start(ctx, who))
}

// checkState serves GET api/system/check. Spec: interface 4.16.1.
func (*API) checkState(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return encoded(r.engines.System.Check(ctx, who))
}
