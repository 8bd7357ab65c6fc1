package webhook

import (
	"github.com/alds-dev/alds/internal/events/delivery"
	"github.com/alds-dev/alds/internal/events/event"
)

// Subscription is a subscription as clients see it.
// Spec: interface 2.6.
type Subscription struct {
	ID          string `json:"id"`
	WebhookID   string `json:"webhookId"`
	URL         string `json:"url"`
	Description string `json:"description"`
	Enabled     bool   `json:"enabled"`
	Paused      bool   `json:"paused"`
	MaxBatch    int    `json:"maxBatch,omitempty"` // 0: the limit of the service
	Ordered     bool   `json:"ordered,omitempty"`  // true: the events of each asset are sent in order
	HasSecret   bool   `json:"hasSecret"`
	Secret      string `json:"secret,omitempty"` // set only in the answer to the request that generated it
	// PreviousSecretValidFor is a number of seconds. During this time, deliveries still have a
	// second signature, which is made with the previous secret.
	PreviousSecretValidFor int64 `json:"previousSecretValidFor,omitempty"`

	DisabledReason string       `json:"disabledReason,omitempty"`
	EventTypes     []Definition `json:"eventTypes"`
	LastResponseAt string       `json:"lastResponseAt"`
	RetryCount     int64        `json:"retryCount"`
	CreatedAt      string       `json:"createdAt"`
	UpdatedAt      string       `json:"updatedAt"`
	CreatedBy      string       `json:"createdBy"`

	Health *delivery.Health `json:"health,omitempty"` // set only in answers to reads
}

// Definition is one event definition of a subscription.
// Spec: interface 6.1.
type Definition = event.Definition

// List is one page of subscriptions, oldest first.
// Spec: interface 4.4.
type List struct {
	Total     int64          `json:"total"`
	PageSize  int            `json:"pageSize"`
	PageStart int            `json:"pageStart"`
	Type      string         `json:"_type"`
	Results   []Subscription `json:"results"`
}

// Queued is the answer to a request for a test event or a redelivery.
type Queued struct {
	Deliveries int64  `json:"deliveries"`           // number of deliveries that were queued
	DeliveryID string `json:"deliveryId,omitempty"` // id of the test, or of the delivery selected by its id; else empty
}

// Receipt describes an attempt to send a delivery, as clients see it.
type Receipt = delivery.Receipt

// DeliveryQuery selects a page of the deliveries of a subscription.
type DeliveryQuery struct {
	State string // one of delivery.States; empty: waiting
	Page  string // "size,start"; empty: the first page
}

// DeliveryList is one page of the deliveries of a subscription.
type DeliveryList struct {
	Total     int64           `json:"total"`
	PageSize  int             `json:"pageSize"`
	PageStart int             `json:"pageStart"`
	Type      string          `json:"_type"`
	Results   []delivery.View `json:"results"`
}
