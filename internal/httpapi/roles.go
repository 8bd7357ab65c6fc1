package httpapi

import (
	"context"

	"github.com/alds-dev/alds/internal/access/auth"
)

// Roles reports the roles of members in projects. Every method returns the JSON to send.
type Roles interface {
	ByProject(ctx context.Context, who auth.Actor, where string) ([]byte, error)
	ByMember(ctx context.Context, who auth.Actor, where string) ([]byte, error)
}

// rolesByProject serves GET api/ProjectRoles/ByProject.
func (*API) rolesByProject(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return r.engines.Roles.ByProject(ctx, who, r.params["where"])
}

// rolesByMember serves GET api/ProjectRoles/ByMember.
func (*API) rolesByMember(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return r.engines.Roles.ByMember(ctx, who, r.params["where"])
}
