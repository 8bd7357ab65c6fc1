package delivery

import (
	"net"
	"net/netip"
	"net/url"
	"testing"
)

func TestIsPublic(t *testing.T) {
	for addr, want := range map[string]bool{
		"8.8.8.8":                true,
		"172.15.255.255":         true,
		"172.32.0.0":             true,
		"2606:4700:4700::1111":   true,
		"0.0.0.0":                false,
		"10.1.2.3":               false,
		"100.64.0.1":             false,
		"127.0.0.1":              false,
		"127.255.255.254":        false,
		"169.254.169.254":        false,
		"172.16.0.1":             false,
		"192.168.1.1":            false,
		"192.0.0.192":            false,
		"198.18.0.1":             false,
		"203.0.113.9":            false,
		"224.0.0.1":              false,
		"255.255.255.255":        false,
		"::":                     false,
		"::1":                    false,
		"::127.0.0.1":            false,
		"::ffff:127.0.0.1":       false,
		"::ffff:8.8.8.8":         true,
		"64:ff9b::7f00:1":        false,
		"64:ff9b:1::a00:1":       false,
		"2001:0:7f00:1::":        false,
		"2001:db8::1":            false,
		"2002:7f00:1::":          false,
		"fc00::1":                false,
		"fd00:ec2::254":          false,
		"fe80::1":                false,
		"fe80::1%eth0":           false,
		"ff02::1":                false,
		"100::1":                 false,
		"5f00::1":                false,
		"3fff::1":                false,
		"2620:4f:8000::1":        false,
		"fec0::1":                false,
		"2a00:1450:4001:81c::64": true,
	} {
		if got := isPublic(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: public %t, want %t", addr, got, want)
		}
	}
}

func TestFailuresDoNotNameTheNameServer(t *testing.T) {
	err := &url.Error{Op: "Post", URL: "http://a.test/?token=1", Err: &net.OpError{Op: "dial", Err: &net.DNSError{
		Err: "no such host", Name: "a.test", Server: "10.1.2.3:53",
	}}}
	if got, want := failureText(err), "lookup a.test: no such host"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
