package httpapi

import (
	"context"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/document"
)

// configuration serves GET config.v1. Spec: interface 4.11.
func (*API) configuration(_ context.Context, _ auth.Actor, r *request) ([]byte, error) {
	if r.format == document.XML {
		return r.answer(r.engines.Configuration.XML), nil
	}
	return r.answer(r.engines.Configuration.JSON), nil
}
