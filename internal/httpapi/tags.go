package httpapi

import (
	"context"

	"github.com/alds-dev/alds/internal/access/auth"
)

// Tags counts tags and changes them on all assets. Every method returns the JSON to send.
type Tags interface {
	One(ctx context.Context, who auth.Actor, tag string) ([]byte, error)
	All(ctx context.Context, who auth.Actor) ([]byte, error)
	Search(ctx context.Context, who auth.Actor, term string) ([]byte, error)
	Merge(ctx context.Context, who auth.Actor, body []byte) ([]byte, error)
	Remove(ctx context.Context, who auth.Actor, body []byte) ([]byte, error)
}

// tag serves GET api/tags?tag=UX. Some clients quote the tag.
func (*API) tag(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return r.engines.Tags.One(ctx, who, unquoted(r.params["tag"]))
}

// allTags serves GET api/tags/all.
func (*API) allTags(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return r.engines.Tags.All(ctx, who)
}

// searchTags serves GET api/tags/command/search.
func (*API) searchTags(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return r.engines.Tags.Search(ctx, who, unquoted(r.params["term"]))
}

// mergeTags serves POST api/tags/command/merge.
func (*API) mergeTags(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	body, err := r.body()
	if err != nil {
		return nil, err
	}
	return r.engines.Tags.Merge(ctx, who, body)
}

// removeTags serves POST api/tags/command/remove.
func (*API) removeTags(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	body, err := r.body()
	if err != nil {
		return nil, err
	}
	return r.engines.Tags.Remove(ctx, who, body)
}
