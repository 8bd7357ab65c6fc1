package httpapi

import (
	"context"

	"github.com/alds-dev/alds/internal/auth"
)

// Roles tells who has which role where. Every answer is the JSON to send.
type Roles interface {
	ByProject(ctx context.Context, who auth.Actor, where string) ([]byte, error)
	ByMember(ctx context.Context, who auth.Actor, where string) ([]byte, error)
}

// Tags tells of tags and changes them everywhere. Every answer is the JSON to send.
type Tags interface {
	One(ctx context.Context, who auth.Actor, tag string) ([]byte, error)
	All(ctx context.Context, who auth.Actor) ([]byte, error)
	Search(ctx context.Context, who auth.Actor, term string) ([]byte, error)
	Merge(ctx context.Context, who auth.Actor, body []byte) ([]byte, error)
	Remove(ctx context.Context, who auth.Actor, body []byte) ([]byte, error)
}

func (a *API) rolesByProject(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return a.roles.ByProject(ctx, who, r.params["where"])
}

func (a *API) rolesByMember(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return a.roles.ByMember(ctx, who, r.params["where"])
}

// tag serves GET api/tags?tag=UX; some clients quote the tag.
func (a *API) tag(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return a.tags.One(ctx, who, unquoted(r.params["tag"]))
}

func (a *API) allTags(ctx context.Context, who auth.Actor, _ *request) ([]byte, error) {
	return a.tags.All(ctx, who)
}

func (a *API) searchTags(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return a.tags.Search(ctx, who, unquoted(r.params["term"]))
}

func (a *API) mergeTags(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	body, err := r.body()
	if err != nil {
		return nil, err
	}
	return a.tags.Merge(ctx, who, body)
}

func (a *API) removeTags(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	body, err := r.body()
	if err != nil {
		return nil, err
	}
	return a.tags.Remove(ctx, who, body)
}
