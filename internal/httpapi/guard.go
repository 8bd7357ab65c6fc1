package httpapi

import (
	"bytes"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/alds-dev/alds/internal/fault"
)

// wellFormed refuses what the HTTP library takes and other servers on the way
// may take in another way. Errors: fault.Invalid.
func wellFormed(c *fiber.Ctx) error {
	if err := malformed(&c.Request().Header); err != nil {
		closeAfter(c)
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

// isFolded reports whether a line of the headers goes on with the one before.
func isFolded(raw []byte) bool {
	return bytes.Contains(raw, []byte("\n ")) || bytes.Contains(raw, []byte("\n\t")) || len(raw) > 0 && (raw[0] == ' ' || raw[0] == '\t')
}

// hasField reports whether a header is among the lines as they were received.
func hasField(raw []byte, name string) bool {
	for line := range bytes.Lines(raw) {
		if key, _, ok := bytes.Cut(line, []byte{':'}); ok && strings.EqualFold(string(bytes.TrimSpace(key)), name) {
			return true
		}
	}
	return false
}

// fromBrowser refuses a write that a page of somebody else may have made a
// browser send. A browser says where a request comes from; a form, or a script
// that was not allowed to ask, can send no other types of content than these.
// Errors: fault.Denied.
func (a *API) fromBrowser(c *fiber.Ctx) error {
	origin, site := c.Get(fiber.HeaderOrigin), c.Get("Sec-Fetch-Site")
	if origin == "" && site == "" {
		return nil // no browser of the last years
	}
	if site != "" && site != "same-origin" && site != "none" || origin != "" && !a.ownOrigin(c, origin) {
		return fault.Deniedf("A page of another site must not write")
	}
	media, _, _ := strings.Cut(c.Get(fiber.HeaderContentType), ";")
	switch strings.ToLower(strings.TrimSpace(media)) {
	case "", "text/plain", "multipart/form-data", "application/x-www-form-urlencoded":
		return fault.Deniedf("A browser must say what it sends by its Content-Type")
	}
	return nil
}

// ownOrigin reports whether an Origin is this service, as the client or the
// world addresses it.
func (a *API) ownOrigin(c *fiber.Ctx, origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false
	}
	return strings.EqualFold(u.Host, string(c.Request().Header.Host())) || a.origin != "" && strings.EqualFold(origin, a.origin)
}

// originOf is scheme and host of a URL.
func originOf(base string) string {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
