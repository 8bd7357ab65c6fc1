package httpapi

import (
	"context"

	"github.com/alds-dev/alds/internal/auth"
)

// Tags counts tags and changes them on all assets. Every answer is the JSON to
// send.
type Tags interface {
	One(ctx context.Context, who auth.Actor, tag string) ([]byte, error)
	All(ctx context.Context, who auth.Actor) ([]byte, error)
	Search(ctx context.Context, who auth.Actor, term string) ([]byte, error)
	Merge(ctx context.Context, who auth.Actor, body []byte) ([]byte, error)
	Remove(ctx context.Context, who auth.Actor, body []byte) ([]byte, error)
}

// tag serves GET api/tags?tag=UX; some clients quote the tag.
func (a *API) tag(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return a.tags.One(ctx, who, unquoted(r.params["tag"]))
}

// allTags serves GET api/tags/all.
func (a *API) allTags(ctx context.Context, who auth.Actor, _ *request) ([]byte, error) {
	return a.tags.All(ctx, who)
}

// searchTags serves GET api/tags/command/search.
func (a *API) searchTags(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return a.tags.Search(ctx, who, unquoted(r.params["term"]))
}

// mergeTags serves POST api/tags/command/merge.
func (a *API) mergeTags(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	body, err := r.body()
	if err != nil {
		return nil, err
	}
	return a.tags.Merge(ctx, who, body)
}

// removeTags serves POST api/tags/command/remove.
func (a *API) removeTags(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	body, err := r.body()
	if err != nil {
		return nil, err
	}
	return a.tags.Remove(ctx, who, body)
}
