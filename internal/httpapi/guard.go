package httpapi

import (
	"bytes"
	"net/netip"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/limits/inbound"
)

// wellFormed refuses requests that the HTTP library accepts but that proxies may read
// differently. Errors: fault.Invalid.
func wellFormed(c *fiber.Ctx) error {
	if err := malformed(&c.Request().Header); err != nil {
		closeAfter(c, inbound.Rest{Short: shortLinger})
		return err
	}
	return c.Next()
}

func malformed(h *fasthttp.RequestHeader) error {
	switch {
	case h.IsHTTP11() && len(h.Host()) == 0:
		return fault.Invalidf(fault.NoPlace, "The request has no Host")
	case isFolded(h.RawHeaders()):
		return fault.Invalidf(fault.NoPlace, "The request has a folded header")
	case h.ContentLength() == -1 && hasField(h.RawHeaders(), "content-length"):
		return fault.Invalidf(fault.NoPlace, "The request has two lengths")
	}
	return nil
}

// isFolded reports whether a header continues on the next line.
func isFolded(raw []byte) bool {
	return bytes.Contains(raw, []byte("\n ")) || bytes.Contains(raw, []byte("\n\t")) || len(raw) > 0 && (raw[0] == ' ' || raw[0] == '\t')
}

// hasField reports whether the raw headers contain a field with a name. It ignores case.
func hasField(raw []byte, name string) bool {
	for line := range bytes.Lines(raw) {
		if key, _, ok := bytes.Cut(line, []byte{':'}); ok && strings.EqualFold(string(bytes.TrimSpace(key)), name) {
			return true
		}
	}
	return false
}

// knownHost refuses requests for an unknown host if the service listens on loopback only.
// Otherwise a web page whose host name resolves to a loopback address (DNS rebinding) has the
// same origin as the service, and could guess its password.
// Errors: fault.Denied. Spec: interface 5.7.
func (a *API) knownHost(c *fiber.Ctx) error {
	host := hostname(string(c.Request().Header.Host()))
	if !a.loopback || host == "" || isLoopback(host) || strings.EqualFold(host, hostname(a.origin)) {
		return c.Next()
	}
	return fault.Deniedf("The service answers to localhost and to the host of its public URL only")
}

// hostname returns the host of a Host header or an origin, without the port and without a dot
// at the end.
func hostname(text string) string {
	if _, after, ok := strings.Cut(text, "://"); ok {
		text = after
	}
	u := url.URL{Host: text}
	return strings.TrimSuffix(u.Hostname(), ".")
}

// isLoopback reports whether a host is a loopback address, or a name that browsers resolve to
// a loopback address.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(host, "localhost") || strings.HasSuffix(strings.ToLower(host), ".localhost")
}

// checkOrigin refuses a write that a browser may have sent for a page of another site.
// Browsers send the origin of the page. Forms, and scripts without permission, can send only
// the content types that are refused here.
// Errors: fault.Denied.
func (a *API) checkOrigin(c *fiber.Ctx, r Route) error {
	origin, site := c.Get(fiber.HeaderOrigin), c.Get("Sec-Fetch-Site")
	if origin == "" && site == "" {
		return nil // not a browser
	}
	if site != "" && site != "same-origin" && site != "none" || origin != "" && !a.ownOrigin(c, origin) {
		return fault.Deniedf("A page of another site must not write")
	}
	if r.Content {
		return nil // a file may have any Content-Type
	}
	media, _, _ := strings.Cut(c.Get(fiber.HeaderContentType), ";")
	switch strings.ToLower(strings.TrimSpace(media)) {
	case "", "text/plain", "multipart/form-data", "application/x-www-form-urlencoded":
		return fault.Deniedf("A browser must say what it sends by its Content-Type")
	}
	return nil
}

// ownOrigin reports whether an Origin header names this service: the Host of the request or
// the origin of the public URL.
func (a *API) ownOrigin(c *fiber.Ctx, origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false
	}
	return strings.EqualFold(u.Host, string(c.Request().Header.Host())) || a.origin != "" && strings.EqualFold(origin, a.origin)
}

// originOf returns the scheme and host of a URL, or "" if the URL has no host.
func originOf(base string) string {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
