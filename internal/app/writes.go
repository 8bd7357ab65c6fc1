package app

import (
	"context"

	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/httpapi"
	"github.com/alds-dev/alds/internal/rest"
)

// writes answers httpapi.Writes.
type writes struct{ *rest.Engine }

// Write answers POST rest-1.v1/Data.
func (w writes) Write(ctx context.Context, who auth.Actor, p httpapi.PathWrite) ([]byte, error) {
	return w.Engine.Write(ctx, who, rest.Write(p))
}
