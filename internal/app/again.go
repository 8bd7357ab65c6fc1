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
)

// maxTries is how often a request is executed while the model changes again and
// again under it. After that its client has to send it again.
const maxTries = 10

// again executes a write by a set of engines, and anew by newer ones when the model
// has changed meanwhile. Nothing of an execution that is repeated was committed.
// What an old model refuses is not refused before it is known to be the present one.
// Errors: those of do; asset.ErrModelChanged after maxTries.
func again[T any](ctx context.Context, s *service, e *engines, do func(*engines) (T, error)) (T, error) {
	for n := 1; ; n++ {
		out, err := do(e)
		if err == nil || n == maxTries || !s.isNewer(ctx, e, err) {
			return out, err
		}
		e = s.present.Load()
	}
}

// isNewer reports whether the present model is newer than that of the engines that
// returned err. It reads the model where err may come from an old one.
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

// modelChanged brings the process to the model that a request has just changed.
func (s *service) modelChanged(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refreshTimeout)
	defer cancel()
	if err := s.catalog.Refresh(ctx); err != nil {
		s.log.Warn("the model has changed and cannot be read", "err", err)
	}
}

// commands executes bulk requests, now or later.
type commands struct {
	*bulk.Async
	s *service
	e *engines
}

// Run executes a request now.
func (c commands) Run(ctx context.Context, who auth.Actor, r bulk.Request) ([]byte, error) {
	return again(ctx, c.s, c.e, func(e *engines) ([]byte, error) { return e.bulk.Run(ctx, who, r) })
}

// repeated executes an accepted request.
func (s *service) repeated(ctx context.Context, do func(*bulk.Engine) error) error {
	_, err := again(ctx, s, s.present.Load(), func(e *engines) (struct{}, error) { return struct{}{}, do(e.bulk) })
	return err
}

// writer writes by path.
type writer struct {
	*rest.Engine
	s *service
	e *engines
}

// Write writes one asset.
func (w writer) Write(ctx context.Context, who auth.Actor, r rest.Write) ([]byte, error) {
	return again(ctx, w.s, w.e, func(e *engines) ([]byte, error) { return e.rest.Write(ctx, who, r) })
}

// tagging reads and writes tags.
type tagging struct {
	*tags.Service
	s *service
	e *engines
}

// Merge makes several tags one.
func (t tagging) Merge(ctx context.Context, who auth.Actor, body []byte) ([]byte, error) {
	return again(ctx, t.s, t.e, func(e *engines) ([]byte, error) { return e.tags.Merge(ctx, who, body) })
}

// Remove removes tags.
func (t tagging) Remove(ctx context.Context, who auth.Actor, body []byte) ([]byte, error) {
	return again(ctx, t.s, t.e, func(e *engines) ([]byte, error) { return e.tags.Remove(ctx, who, body) })
}

// subscribing manages subscriptions. What they name is checked by the model of this
// moment.
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

// Preview matches a subscription with the latest changes.
func (w subscribing) Preview(ctx context.Context, who auth.Actor, body []byte) (webhook.Preview, error) {
	hooks, err := w.s.presentHooks(ctx)
	if err != nil {
		return webhook.Preview{}, err
	}
	return hooks.Preview(ctx, who, body)
}

// following reads the feed of changes.
type following struct {
	s *service
	e *engines
}

// Page returns a part of the feed, by the model of this moment.
func (f following) Page(ctx context.Context, who auth.Actor, r feed.Request) (feed.Page, error) {
	return again(ctx, f.s, f.e, func(e *engines) (feed.Page, error) { return e.feed.Page(ctx, who, r) })
}

// Wait returns when there is more in the feed than up to head.
func (f following) Wait(ctx context.Context, head int64) error { return f.s.feed.Wait(ctx, head) }

// presentHooks returns the subscriptions' engine of a model no older than the call.
func (s *service) presentHooks(ctx context.Context) (*webhook.Service, error) {
	if err := s.catalog.Refresh(ctx); err != nil {
		return nil, err
	}
	return s.present.Load().hooks, nil
}
