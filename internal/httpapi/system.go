package httpapi

import (
	"context"
	"net/http"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/operate/system"
)

// System reports the state of the installation, checks its database and changes its settings.
type System interface {
	Status(ctx context.Context, who auth.Actor) (system.Status, error)
	Start(ctx context.Context, who auth.Actor) (system.State, error)
	Check(ctx context.Context, who auth.Actor) (system.State, error)
	Settings(ctx context.Context, who auth.Actor) (system.Settings, error)
	ChangeSettings(ctx context.Context, who auth.Actor, body []byte, yaml bool) (system.Settings, error)
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

// settings serves GET api/system/settings. Spec: interface 4.16.2.
func (*API) settings(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return encoded(r.engines.System.Settings(ctx, who))
}

// changeSettings serves POST api/system/settings. Spec: interface 4.16.2.
func (*API) changeSettings(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	body, err := r.body()
	if err != nil {
		return nil, err
	}
	return encoded(r.engines.System.ChangeSettings(ctx, who, body, r.isYAML(body)))
}
