package webhook

import (
	"net/url"
	"slices"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/base/document"
)

// event returns an entry of the audit trail for an action on a subscription. The entry contains
// only the scheme and the host of the URL, because some receivers have tokens in the path.
func (r *subscriptionRow) event(k trail.Kind, who auth.Actor, changed ...string) trail.Event {
	d := trail.Detail{Subscription: r.ID, Changed: changed}
	if u, err := url.Parse(r.URL); err == nil {
		d.URL = u.Scheme + "://" + u.Host
	}
	return trail.Event{Kind: k, Actor: who.Member, Detail: d}
}

// keysOf returns the keys of a body that have a setter, sorted.
func keysOf(n *document.Node) []string {
	var keys []string
	for _, key := range n.Keys {
		if _, known := setters[key]; known {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
