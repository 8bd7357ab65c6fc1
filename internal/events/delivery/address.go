package delivery

import (
	"fmt"
	"net/netip"
	"syscall"
)

// notPublicError is the error of a request to an IP address that is not public. Receipts of
// deliveries show its text.
type notPublicError struct{ addr string }

func (e notPublicError) Error() string {
	return fmt.Sprintf("the target's address %s is not a public one", e.addr)
}

// refuseNonPublic is the Control function of a dialer. It checks the IP address after the DNS
// lookup. A check before the lookup would not be safe, because the name could then resolve to
// another address.
func refuseNonPublic(_, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil || !isPublic(a.Addr()) {
		return notPublicError{addr: address}
	}
	return nil
}

// isPublic reports whether an IP address belongs to the public internet. It returns false for
// addresses in the list special, and for IPv6 addresses outside globalUnicast. An IPv4 address that
// is mapped to IPv6 counts as an IPv4 address.
func isPublic(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.Is4() && !globalUnicast.Contains(a) {
		return false
	}
	for _, p := range special {
		if p.Contains(a) {
			return false
		}
	}
	return a.IsValid()
}

var globalUnicast = netip.MustParsePrefix("2000::/3")

var special = prefixes(
	"0.0.0.0/8",         // this network
	"10.0.0.0/8",        // private
	"100.64.0.0/10",     // shared between carrier and customer
	"127.0.0.0/8",       // loopback
	"168.63.129.16/32",  // host services of a cloud
	"169.254.0.0/16",    // link-local, metadata services
	"172.16.0.0/12",     // private
	"192.0.0.0/24",      // protocol assignments
	"192.0.2.0/24",      // documentation
	"192.88.99.0/24",    // 6to4 relays
	"192.168.0.0/16",    // private
	"198.18.0.0/15",     // benchmarks
	"198.51.100.0/24",   // documentation
	"203.0.113.0/24",    // documentation
	"224.0.0.0/4",       // multicast
	"240.0.0.0/4",       // reserved, broadcast
	"2001::/23",         // protocol assignments: Teredo, ORCHID, benchmarks
	"2001:db8::/32",     // documentation
	"2002::/16",         // 6to4: contains an IPv4 address
	"2620:4f:8000::/48", // AS112
	"3fff::/20",         // documentation
)

func prefixes(all ...string) []netip.Prefix {
	parsed := make([]netip.Prefix, len(all))
	for i, s := range all {
		parsed[i] = netip.MustParsePrefix(s)
	}
	return parsed
}
