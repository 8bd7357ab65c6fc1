// Package events contains the packages that report changes. They compare versions, match changes
// with filters, send webhooks, and serve the feed and the activity of assets.
//
// None of these packages changes an asset. To read the code, start with package webhook, which
// turns changes into payloads, and with package delivery, which sends the payloads.
package events
