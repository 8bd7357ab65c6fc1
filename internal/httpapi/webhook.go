package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/webhook"
)

// createWebhook serves POST api/webhook. Spec: interface 4.4.
func (a *API) createWebhook(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	b, err := r.body()
	if err != nil {
		return nil, err
	}
	return encoded(a.webhooks.Create(ctx, who, b))
}

// updateWebhook serves POST api/webhook/<id>. Spec: interface 4.4.
func (a *API) updateWebhook(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	b, err := r.body()
	if err != nil {
		return nil, err
	}
	return encoded(a.webhooks.Update(ctx, who, r.param("id"), b))
}

// deleteWebhook serves POST api/webhook/delete/<id>. Spec: interface 4.4.
func (a *API) deleteWebhook(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return encoded(a.webhooks.Delete(ctx, who, r.param("id")))
}

// listWebhooks serves GET api/webhook. Spec: interface 4.4.
func (a *API) listWebhooks(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return encoded(a.webhooks.List(ctx, who, r.params["page"]))
}

// webhookStatus serves GET api/webhook/status/<id>. Spec: interface 4.4.
func (a *API) webhookStatus(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return encoded(a.webhooks.Status(ctx, who, r.param("id")))
}

// testWebhook serves POST api/webhook/test/<id>. Spec: compat 9.24.
func (a *API) testWebhook(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return encoded(a.webhooks.Test(ctx, who, r.param("id")))
}

// redeliverWebhook serves POST api/webhook/redeliver/<id>. Spec: compat 9.24.
func (a *API) redeliverWebhook(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	b, err := r.body()
	if err != nil {
		return nil, err
	}
	return encoded(a.webhooks.Redeliver(ctx, who, r.param("id"), b))
}

// webhookDeliveries serves GET api/webhook/deliveries/<id>. Spec: compat 9.24.
func (a *API) webhookDeliveries(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return encoded(a.webhooks.Deliveries(ctx, who, r.param("id"), webhook.DeliveryQuery{State: r.params["state"], Page: r.params["page"]}))
}

// encoded returns v as JSON, with &, < and > as they are.
func encoded[T any](v T, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
