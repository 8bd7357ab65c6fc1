package httpapi

import (
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/query/encode"
)

// mimeXML is the Content-Type of XML that existing clients expect.
const mimeXML = "text/xml; charset=utf-8"

// xmlSegments are the first segments of the paths that answer in XML unless the client asks
// for JSON. A download has a format of its own, but its failures are XML. All other paths
// answer in JSON.
var xmlSegments = []string{"rest-1.v1", "meta.v1", "config.v1", "attachment.img", "embedded.img"}

// formatOf returns the format of the answer to a request. The request may have no route.
// Spec: interface 10.4.
func (a *API) formatOf(c *fiber.Ctx) document.Format {
	segment := a.firstSegment(c.Path())
	for _, name := range xmlSegments {
		if strings.EqualFold(segment, name) || slices.ContainsFunc(aliases[name], func(s string) bool { return strings.EqualFold(s, segment) }) {
			return formatNamedBy(c)
		}
	}
	return document.JSON
}

// formatNamedBy returns JSON if an Accept header or the parameter accept lists a media type of
// JSON. Otherwise it returns XML.
func formatNamedBy(c *fiber.Ctx) document.Format {
	accept := slices.Clone(c.Request().Header.PeekAll(fiber.HeaderAccept))
	accept = append(accept, []byte(paramsOf(c.Request().URI().QueryArgs())["accept"]))
	if lists(accept, "application/json") || lists(accept, "text/json") {
		return document.JSON
	}
	return document.XML
}

// firstSegment returns the first segment of a path below the instance.
func (a *API) firstSegment(path string) string {
	path = strings.TrimLeft(path, "/")
	if a.instance != "" {
		_, path, _ = strings.Cut(path, "/")
	}
	first, _, _ := strings.Cut(strings.TrimLeft(path, "/"), "/")
	return first
}

// contentTypeOf returns the Content-Type of answers in a format.
func contentTypeOf(f document.Format) string {
	if f == document.XML {
		return mimeXML
	}
	return fiber.MIMEApplicationJSON
}

// form returns the format of the answer. Its hrefs start with base.
func (r *request) form(base string) encode.Form {
	return encode.Form{Format: r.format, Base: base, Stylesheet: r.stylesheet}
}
