package httpapi

import (
	"context"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/events/delivery"
	"github.com/alds-dev/alds/internal/events/webhook"
	"github.com/alds-dev/alds/internal/model/value"
)

// Webhooks manages subscriptions.
type Webhooks interface {
	Create(ctx context.Context, who auth.Actor, body []byte) (webhook.Subscription, error)
	Update(ctx context.Context, who auth.Actor, id string, body []byte) (webhook.Subscription, error)
	Delete(ctx context.Context, who auth.Actor, id string) (webhook.Subscription, error)
	List(ctx context.Context, who auth.Actor, page string) (webhook.List, error)
	Subscription(ctx context.Context, who auth.Actor, id string) (webhook.Subscription, error)
	Preview(ctx context.Context, who auth.Actor, body []byte) (webhook.Preview, error)
	Status(ctx context.Context, who auth.Actor, id string) ([]webhook.Receipt, error)
	Test(ctx context.Context, who auth.Actor, id string) (webhook.Queued, error)
	Redeliver(ctx context.Context, who auth.Actor, id string, body []byte) (webhook.Queued, error)
	Deliveries(ctx context.Context, who auth.Actor, id string, q webhook.DeliveryQuery) (webhook.DeliveryList, error)
	Delivery(ctx context.Context, who auth.Actor, id string) (delivery.Sent, error)
}

// createWebhook serves POST api/webhook. Spec: interface 4.4.
func (*API) createWebhook(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	b, err := r.body()
	if err != nil {
		return nil, err
	}
	return encoded(r.engines.Webhooks.Create(ctx, who, b))
}

// updateWebhook serves POST api/webhook/<id>. Spec: interface 4.4.
func (*API) updateWebhook(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	b, err := r.body()
	if err != nil {
		return nil, err
	}
	return encoded(r.engines.Webhooks.Update(ctx, who, r.param("id"), b))
}

// deleteWebhook serves POST api/webhook/delete/<id>. Spec: interface 4.4.
func (*API) deleteWebhook(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return encoded(r.engines.Webhooks.Delete(ctx, who, r.param("id")))
}

// listWebhooks serves GET api/webhook. Spec: interface 4.4.
func (*API) listWebhooks(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return encoded(r.engines.Webhooks.List(ctx, who, r.params["page"]))
}

// webhookStatus serves GET api/webhook/status/<id>. Spec: interface 4.4.
func (*API) webhookStatus(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return encoded(r.engines.Webhooks.Status(ctx, who, r.param("id")))
}

// testWebhook serves POST api/webhook/test/<id>. Spec: interface 4.4.
func (*API) testWebhook(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return encoded(r.engines.Webhooks.Test(ctx, who, r.param("id")))
}

// redeliverWebhook serves POST api/webhook/redeliver/<id>. Spec: interface 4.4.
func (*API) redeliverWebhook(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	b, err := r.body()
	if err != nil {
		return nil, err
	}
	return encoded(r.engines.Webhooks.Redeliver(ctx, who, r.param("id"), b))
}

// webhookDeliveries serves GET api/webhook/deliveries/<id>. Spec: interface 4.4.
func (*API) webhookDeliveries(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return encoded(r.engines.Webhooks.Deliveries(ctx, who, r.param("id"), webhook.DeliveryQuery{State: r.params["state"], Page: r.params["page"]}))
}

// findWebhook serves GET api/webhook/<id>.
func (*API) findWebhook(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return encoded(r.engines.Webhooks.Subscription(ctx, who, r.param("id")))
}

// previewWebhook serves POST api/webhook/preview.
func (*API) previewWebhook(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	b, err := r.body()
	if err != nil {
		return nil, err
	}
	return encoded(r.engines.Webhooks.Preview(ctx, who, b))
}

// webhookDelivery serves GET api/webhook/delivery/<id>.
func (*API) webhookDelivery(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return encoded(r.engines.Webhooks.Delivery(ctx, who, r.param("id")))
}

// encoded returns the result of an engine as JSON. If err is set, it returns err.
func encoded[T any](v T, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return value.Marshal(v)
}
