package app

import (
	"context"
	"errors"
	"time"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/events/feed"
	"github.com/alds-dev/alds/internal/events/webhook"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/bulk"
	"github.com/alds-dev/alds/internal/write/rest"
	"github.com/alds-dev/alds/internal/write/tags"
	"github.com/alds-dev/alds/internal/write/undo"
)

// maxTries is the maximum number of executions of one request. A request is executed again if it
// failed and the model changed during the execution.
const maxTries = 10

// again calls do with the engines e. If do fails and the model (the asset types and attributes) has
// changed meanwhile, again calls do with the engines of the current model. That is safe, because a
// failed call has committed nothing. So a request is never refused because of an old model.
// Errors: errors of do; asset.ErrModelChanged after maxTries.
func again[T any](ctx context.Context, s *service, e *engines, do func(*engines) (T, error)) (T, error) {
	for n := 1; ; n++ {
		out, err := do(e)
		if err == nil || n == maxTries || !s.isNewer(ctx, e, err) {
			return out, err
		}
		e = s.present.Load()
	}
}

// isNewer reports whether the current model is newer than the model of e. err is the error of a
// request that ran with e. If an old model may have caused err, isNewer first reads the model from
// the database. For other errors it returns false.
func (s *service) isNewer(ctx context.Context, e *engines, err error) bool {
	var failed error
	switch kind := fault.KindOf(err); {
	case errors.Is(err, asset.ErrModelChanged):
		failed = s.catalog.Pass(ctx, e.generation)
	case kind == fault.Invalid || kind == fault.NotFound:
		failed = s.catalog.Refresh(ctx)
	default:
		return false
	}
	return failed == nil && s.present.Load().generation != e.generation
}

// refreshTimeout is how long a request that changed the model waits until the process has
// loaded the new model.
const refreshTimeout = 10 * time.Second

// modelChanged loads the model after a request of this process has changed it.
func (s *service) modelChanged(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refreshTimeout)
	defer cancel()
	if err := s.catalog.Refresh(ctx); err != nil {
		s.Log.Warn("the model has changed, and the new model cannot be read", "err", err)
	}
}

// commands implements httpapi.Bulk. It executes bulk requests, now or later.
type commands struct {
	*bulk.Async
	s *service
	e *engines
}

// Run executes a request now.
func (c commands) Run(ctx context.Context, who auth.Actor, r bulk.Request) ([]byte, error) {
	return again(ctx, c.s, c.e, func(e *engines) ([]byte, error) { return e.bulk.Run(ctx, who, r) })
}

// repeated executes a request that was accepted earlier. It calls the function again. So it uses
// the current engines, and repeats the request if the model changes meanwhile.
func (s *service) repeated(ctx context.Context, do func(*bulk.Engine) error) error {
	_, err := again(ctx, s, s.present.Load(), func(e *engines) (struct{}, error) { return struct{}{}, do(e.bulk) })
	return err
}

// undoing implements httpapi.Undo. It takes back writes, now or later.
type undoing struct {
	*bulk.Async
	s *service
	e *engines
}

// Run takes back writes now.
func (u undoing) Run(ctx context.Context, who auth.Actor, r undo.Request) ([]byte, error) {
	return again(ctx, u.s, u.e, func(e *engines) ([]byte, error) { return e.undo.Run(ctx, who, r) })
}

// planning implements httpapi.Plans.
type planning struct {
	s *service
	e *engines
}

// Make makes a plan of a request.
func (p planning) Make(ctx context.Context, who auth.Actor, r bulk.Request) ([]byte, error) {
	return again(ctx, p.s, p.e, func(e *engines) ([]byte, error) { return e.plan.Make(ctx, who, r) })
}

// Apply carries a plan out.
func (p planning) Apply(ctx context.Context, who auth.Actor, id string) ([]byte, error) {
	return again(ctx, p.s, p.e, func(e *engines) ([]byte, error) { return e.plan.Apply(ctx, who, id) })
}

// Propose keeps a plan as a proposal.
func (p planning) Propose(ctx context.Context, who auth.Actor, body []byte, yaml bool) ([]byte, error) {
	return again(ctx, p.s, p.e, func(e *engines) ([]byte, error) { return e.plan.Propose(ctx, who, body, yaml) })
}

// Renew gives a proposal another plan.
func (p planning) Renew(ctx context.Context, who auth.Actor, proposal string, body []byte, yaml bool) ([]byte, error) {
	return again(ctx, p.s, p.e, func(e *engines) ([]byte, error) { return e.plan.Renew(ctx, who, proposal, body, yaml) })
}

// Read returns a plan.
func (p planning) Read(ctx context.Context, who auth.Actor, id string) ([]byte, error) {
	return p.e.plan.Read(ctx, who, id)
}

// Show returns the effect of a proposal.
func (p planning) Show(ctx context.Context, who auth.Actor, proposal string) ([]byte, error) {
	return p.e.plan.Show(ctx, who, proposal)
}

// writer implements httpapi.Writes. Each write changes one asset.
type writer struct {
	*rest.Engine
	s *service
	e *engines
}

// Write writes one asset.
func (w writer) Write(ctx context.Context, who auth.Actor, r rest.Write) ([]byte, error) {
	return again(ctx, w.s, w.e, func(e *engines) ([]byte, error) { return e.rest.Write(ctx, who, r) })
}

// tagging implements httpapi.Tags. It reads and changes tags.
type tagging struct {
	*tags.Service
	s *service
	e *engines
}

// Merge replaces several tags by one.
func (t tagging) Merge(ctx context.Context, who auth.Actor, body []byte) ([]byte, error) {
	return again(ctx, t.s, t.e, func(e *engines) ([]byte, error) { return e.tags.Merge(ctx, who, body) })
}

// Remove removes tags.
func (t tagging) Remove(ctx context.Context, who auth.Actor, body []byte) ([]byte, error) {
	return again(ctx, t.s, t.e, func(e *engines) ([]byte, error) { return e.tags.Remove(ctx, who, body) })
}

// subscribing implements httpapi.Webhooks. It checks the names in a subscription with the
// current model.
type subscribing struct {
	*webhook.Service
	s *service
}

// Create creates a subscription.
func (w subscribing) Create(ctx context.Context, who auth.Actor, body []byte) (webhook.Subscription, error) {
	hooks, err := w.s.presentHooks(ctx)
	if err != nil {
		return webhook.Subscription{}, err
	}
	return hooks.Create(ctx, who, body)
}

// Update changes a subscription.
func (w subscribing) Update(ctx context.Context, who auth.Actor, id string, body []byte) (webhook.Subscription, error) {
	hooks, err := w.s.presentHooks(ctx)
	if err != nil {
		return webhook.Subscription{}, err
	}
	return hooks.Update(ctx, who, id, body)
}

// Preview matches a new subscription with the latest changes.
func (w subscribing) Preview(ctx context.Context, who auth.Actor, body []byte) (webhook.Preview, error) {
	hooks, err := w.s.presentHooks(ctx)
	if err != nil {
		return webhook.Preview{}, err
	}
	return hooks.Preview(ctx, who, body)
}

// following implements httpapi.Changes. It reads the feed of changes.
type following struct {
	s *service
	e *engines
}

// Page returns a page of the feed. It calls the function again, so it may read the page several
// times if the model changes meanwhile.
func (f following) Page(ctx context.Context, who auth.Actor, r feed.Request) (feed.Page, error) {
	return again(ctx, f.s, f.e, func(e *engines) (feed.Page, error) { return e.feed.Page(ctx, who, r) })
}

// Wait returns nil when the feed has changes after the position head, or an error when ctx ends.
func (f following) Wait(ctx context.Context, head int64) error { return f.s.feed.Wait(ctx, head) }

// presentHooks reads the current model and returns the subscription engine for this model.
func (s *service) presentHooks(ctx context.Context) (*webhook.Service, error) {
	if err := s.catalog.Refresh(ctx); err != nil {
		return nil, err
	}
	return s.present.Load().hooks, nil
}
