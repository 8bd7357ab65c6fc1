// Package events is the folder of everything that reports changes: differences of versions,
// matching, webhooks and their deliveries, the feed, and activity.
//
// Nothing here changes an asset. Start with webhook, which turns changes into payloads, and
// with delivery, which sends them.
package events
