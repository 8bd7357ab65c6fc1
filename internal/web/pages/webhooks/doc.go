// Package webhooks has the pages about webhook subscriptions: their state, their deliveries,
// and their form.
//
// Spec: interface 4.4.
package webhooks
