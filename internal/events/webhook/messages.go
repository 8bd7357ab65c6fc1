package webhook

import (
	"strings"

	"github.com/alds-dev/alds/internal/base/fault"
)

// errNoSubscription has the same text as every other 404, because clients compare this text.
func errNoSubscription() error { return fault.NotFoundf("Not Found") }

func errNotAdmin() error {
	return fault.Deniedf("Only a system administrator may manage webhook subscriptions")
}

func errNotAMap() error {
	return fault.Invalidf(0, "The request must be one object")
}

func errMissing(key string) error {
	return fault.Invalidf(fault.NoPlace, "%s is required", key)
}

func errUnknownKey(at int, path ...string) error {
	return fault.Invalidf(at, "Invalid key at node(s): %s", strings.Join(append([]string{"root"}, path...), "->"))
}

func errWants(at int, key, what string) error {
	return fault.Invalidf(at, "%s must be %s", key, what)
}

func errTooLong(at int, key string, most int) error {
	return fault.Invalidf(at, "%s must not be longer than %d characters", key, most)
}

func errURL(at int, why string) error {
	return fault.Invalidf(at, "url must be an absolute http or https address: %s", why)
}

func errHeader(at int) error {
	return fault.Invalidf(at, "authorizationHeader must be one line of visible characters")
}

func errTooManyEnabled(most int) error {
	return fault.Invalidf(fault.NoPlace, "No more than %d webhook subscriptions may be enabled", most)
}

func errPage(page string) error {
	return fault.Invalidf(fault.NoPlace, "Invalid page: %s (wanted: size,start)", page)
}

func errUnknownType(at int, name string) error {
	return fault.Invalidf(at, "Unknown AssetType: %s", name)
}

func errMember(at int, token string) error {
	return fault.Invalidf(at, "Invalid OID token: %s", token)
}

func errDisabled() error {
	return fault.Invalidf(fault.NoPlace, "The webhook subscription is disabled: nothing is sent until it is enabled")
}

func errWhich() error {
	return fault.Invalidf(fault.NoPlace, "The request must name a delivery, a receipt, or a time range by since and until")
}

func errInstant(at int, key string) error {
	return fault.Invalidf(at, "%s must be a time such as 2026-01-31T12:00:00Z", key)
}

func errRange() error {
	return fault.Invalidf(fault.NoPlace, "since must not be later than until")
}

func errState(state string, all []string) error {
	return fault.Invalidf(fault.NoPlace, "Invalid state: %s (wanted: %s)", state, strings.Join(all, ", "))
}

func errNeverChanges(at int, d *Definition) error {
	return fault.Invalidf(at, "attributes %[2]s of %[1]s: changes do not list these attributes, because they are derived from others", d.From, strings.Join(d.Attributes, ", "))
}
