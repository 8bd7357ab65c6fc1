// Package webhooks makes the pages about subscriptions: how they do, what waits, what was sent, and their form.
//
// Spec: interface 4.4.
package webhooks
