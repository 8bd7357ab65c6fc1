package httpapi

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/query/describe"
)

// Metadata describes the model in a format. base is the start of hrefs.
type Metadata interface {
	Model(base string, f document.Format) describe.Document
	Type(base, name string, f document.Format) (describe.Document, error)
	Part(base, typ, name string, f document.Format) (describe.Document, error)
}

// DescribeModel returns the answer to GET meta.v1 in a format: the description of the whole
// model of the engines e.
func (a *API) DescribeModel(e *Engines, f document.Format) describe.Document {
	return e.Metadata.Model(a.base(Route{Path: "meta.v1"}), f)
}

// metadata serves GET meta.v1[/<Type>[/<attribute, path token or operation>]].
// Spec: interface 4.2.
func (a *API) metadata(_ context.Context, _ auth.Actor, r *request) ([]byte, error) {
	base, _, _ := strings.Cut(r.base, "/:")
	d, err := r.description(base)
	if err != nil {
		return nil, err
	}
	return r.answer(d), nil
}

func (r *request) description(base string) (describe.Document, error) {
	typ, part := r.param("type"), strings.TrimRight(r.param("+"), "/")
	switch {
	case typ == "":
		return r.engines.Metadata.Model(base, r.format), nil
	case part == "":
		return r.engines.Metadata.Type(base, typ, r.format)
	}
	return r.engines.Metadata.Part(base, typ, part, r.format)
}

// answer returns the document in the form that the client accepts. If the client already has
// this document, it returns nil and sets the status 304. The client may store the document but
// must check before each use whether it has changed; shared caches must not store it.
func (r *request) answer(d describe.Document) []byte {
	if r.format == document.XML && r.stylesheet != "" {
		d = describe.Document{Tag: d.Tag + styledSuffix, Body: bytes.Replace(d.Body, []byte("?>"), []byte("?>"+r.stylesheet), 1)}
	}
	tag, body := `"`+d.Tag+`"`, d.Body
	if d.Gzip != nil && acceptsGzip(r.accepts) {
		tag, body = `"`+d.Tag+gzipSuffix+`"`, d.Gzip
		r.set(fiber.HeaderContentEncoding, "gzip")
	}
	r.set(fiber.HeaderETag, tag)
	r.set(fiber.HeaderVary, "Accept, Accept-Encoding"+r.varies)
	r.set(fiber.HeaderCacheControl, "private, no-cache")
	if isKnown(r.ifNoneMatch, d.Tag) {
		r.status = http.StatusNotModified
		r.headers = slices.DeleteFunc(r.headers, func(h [2]string) bool { return h[0] == fiber.HeaderContentEncoding })
		return nil
	}
	return body
}

func (r *request) set(name, v string) { r.headers = append(r.headers, [2]string{name, v}) }

// styledSuffix is the end of the ETag of a document that refers to a stylesheet.
const styledSuffix = "-styled"

// gzipSuffix is the end of the ETag of a compressed document, since its bytes differ.
const gzipSuffix = "-gzip"

// isKnown reports whether an If-None-Match header contains a tag, with or without gzipSuffix.
func isKnown(header, tag string) bool {
	for one := range strings.SplitSeq(header, ",") {
		one = strings.Trim(strings.TrimPrefix(strings.TrimSpace(one), "W/"), `"`)
		if one == "*" || strings.TrimSuffix(one, gzipSuffix) == tag {
			return true
		}
	}
	return false
}

// acceptsGzip reports whether an Accept-Encoding header allows gzip. Quality 0 forbids it.
func acceptsGzip(header string) bool {
	any := false
	for one := range strings.SplitSeq(strings.ToLower(header), ",") {
		word, params, _ := strings.Cut(one, ";")
		quality, found := strings.CutPrefix(strings.ReplaceAll(params, " ", ""), "q=")
		q, err := strconv.ParseFloat(quality, 64)
		taken := !found || err != nil || q > 0
		switch strings.TrimSpace(word) {
		case "gzip", "x-gzip":
			return taken
		case "*":
			any = taken
		}
	}
	return any
}
