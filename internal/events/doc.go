// Package events is the folder of the path from a change to whoever wants to know it:
// differences of versions, matching, webhooks and their deliveries, the feed, and activity.
//
// Nothing here changes an asset. Start with webhook, which turns changes into payloads, and
// with delivery, which sends them.
package events
