package inbound

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Proxies are the addresses of trusted proxies.
type Proxies []netip.Prefix

// trusted reports whether an address belongs to a trusted proxy.
func (p Proxies) trusted(ip netip.Addr) bool {
	ip = ip.Unmap()
	return slices.ContainsFunc(p, func(one netip.Prefix) bool { return one.Contains(ip) })
}

// TrustedAddr reports whether the remote address of a connection belongs to a trusted proxy.
func (p Proxies) TrustedAddr(addr net.Addr) bool { return p.trusted(hostOf(addr)) }

// Client returns the address of the client of a connection. addr is the remote address of the
// connection. Client returns addr if it is not a trusted proxy. Otherwise it returns the last
// address in the X-Forwarded-For headers that is not a trusted proxy. The addresses before it may
// be forged. If an address in the headers is not valid, Client returns the address of the proxy
// that added it.
func (p Proxies) Client(addr net.Addr, forwarded []string) netip.Addr {
	ip := hostOf(addr)
	if !p.trusted(ip) {
		return ip
	}
	for i := len(forwarded) - 1; i >= 0; i-- {
		list := strings.Split(forwarded[i], ",")
		for j := len(list) - 1; j >= 0; j-- {
			next, err := netip.ParseAddr(strings.Trim(hostPart(strings.TrimSpace(list[j])), "[]"))
			if err != nil {
				return ip
			}
			if ip = next.Unmap().WithZone(""); !p.trusted(ip) {
				return ip
			}
		}
	}
	return ip
}

// hostPart returns s without a port. Some proxies add the port.
func hostPart(s string) string {
	if host, _, err := net.SplitHostPort(s); err == nil {
		return host
	}
	return s
}

// Network returns the network under which a connection is counted. For IPv6 it is the /64 network
// of the address, because one client may use all addresses of a /64. For IPv4 it is the address
// itself.
func Network(ip netip.Addr) string {
	ip = ip.Unmap().WithZone("")
	if ip.Is6() {
		if net, err := ip.Prefix(64); err == nil {
			return net.String()
		}
	}
	return ip.String()
}

// hostOf returns the IP address of addr, or the zero Addr if addr has none.
func hostOf(addr net.Addr) netip.Addr {
	if a, ok := addr.(*net.TCPAddr); ok {
		ip, _ := netip.AddrFromSlice(a.IP)
		return ip.Unmap()
	}
	return netip.Addr{}
}
