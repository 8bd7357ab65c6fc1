package httpapi

import (
	"bytes"
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/model/oid"
)

// Params maps the lower-case name of each query parameter to its first value.
type Params map[string]string

// valid refuses values that are not UTF-8, since databases treat them differently. It checks unused
// parameters, too: an invalid value shows that the whole URL has another encoding.
// Errors: fault.Invalid.
func (p Params) valid() error {
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if !utf8.ValidString(p[name]) {
			return notUTF8(strings.ToValidUTF8(name, "\ufffd"))
		}
	}
	return nil
}

// values returns the parameters in the type that package query reads.
func (p Params) values() url.Values {
	values := make(url.Values, len(p))
	for name, v := range p {
		values[name] = []string{v}
	}
	return values
}

func notUTF8(name string) error {
	return fault.Invalidf(fault.NoPlace, "%s is not valid UTF-8", name)
}

// flag reads a boolean parameter; an absent or empty one is false. Any other value is
// refused, so that a misspelled previewOnly does not become a write.
// Errors: fault.Invalid.
func (p Params) flag(name string) (bool, error) {
	switch strings.ToLower(p[strings.ToLower(name)]) {
	case "true":
		return true, nil
	case "", "false":
		return false, nil
	}
	return false, fault.Invalidf(fault.NoPlace, "%s must be true or false", name)
}

// request has the parts of a request that handlers read, and the parts of the answer that
// they set.
type request struct {
	base        string                   // start of hrefs, such as /alds/rest-1.v1/Data
	param       func(name string) string // returns a parameter of the path
	params      Params
	yamlType    bool   // the Content-Type says YAML
	takesXML    bool   // true: the body may be XML, as below rest-1.v1/Data
	raw         []byte // the body as received
	encoding    string // Content-Encoding in lower case
	maxBody     int    // bytes
	hold        *memory.Hold
	ifMatch     string
	ifNoneMatch string
	accepts     string          // Accept-Encoding
	accept      string          // Accept
	format      document.Format // format of the answer
	stylesheet  string          // XML instruction that refers to a stylesheet, for the answer; empty: none
	languages   string          // Accept-Language
	query       string          // encoded query string of the URL
	key         string          // Idempotency-Key
	async       bool            // Prefer: respond-async
	lastEventID string          // Last-Event-ID: a live stream continues after this event
	http11      bool

	login   auth.Login // login of the caller
	engines *Engines   // the set that the request uses until its answer ends

	asset       oid.OID // asset in the path; set by the handler
	status      int     // 0: 200
	headers     [][2]string
	contentType string    // empty: the Content-Type of format
	varies      string    // more names for the header Vary, each after ", "
	stream      Stream    // if set, it makes the body of the answer
	file        *file     // if set, it is the body of the answer
	follow      *follower // if set, the request waits for changes

	head     bool                            // HEAD: the answer has no body
	span     string                          // Range
	ifRange  string                          // If-Range
	incoming *requestBody                    // body of an upload; raw is then empty
	admit    func(ctx context.Context) error // for an upload: waits for a slot to write
}

// newRequest reads all parts of a request except the body. Errors: fault.Invalid for a
// parameter or an Idempotency-Key that is not UTF-8.
func (a *API) newRequest(c *fiber.Ctx, base string) (*request, error) {
	h := &c.Request().Header
	req := &request{
		base:        base,
		param:       func(name string) string { return strings.Clone(c.Params(name)) },
		params:      paramsOf(c.Request().URI().QueryArgs()),
		yamlType:    strings.Contains(strings.ToLower(string(h.ContentType())), "yaml"),
		takesXML:    strings.HasSuffix(base, "/Data"),
		encoding:    strings.ToLower(strings.TrimSpace(string(h.ContentEncoding()))),
		maxBody:     a.maxBody,
		ifMatch:     string(h.Peek("If-Match")),
		ifNoneMatch: string(h.Peek("If-None-Match")),
		accepts:     string(h.Peek("Accept-Encoding")),
		accept:      string(h.Peek("Accept")),
		format:      a.formatOf(c),
		languages:   string(h.Peek("Accept-Language")),
		query:       string(c.Request().URI().QueryString()),
		head:        c.Method() == methodHead,
		span:        string(h.Peek("Range")),
		ifRange:     string(h.Peek("If-Range")),
		key:         strings.TrimSpace(string(h.Peek("Idempotency-Key"))),
		async:       lists(h.PeekAll("Prefer"), respondAsync),
		lastEventID: string(h.Peek("Last-Event-ID")),
		http11:      h.IsHTTP11(),
	}
	if req.params["xsl"] == stylesheet {
		req.stylesheet = `<?xml-stylesheet type="text/xsl" href="` + a.base(Route{Path: stylesheet}) + `"?>`
	}
	if !utf8.ValidString(req.key) {
		return nil, notUTF8("Idempotency-Key")
	}
	return req, req.params.valid()
}

// lists reports whether one of several comma-separated headers contains a word. It ignores
// case and parameters such as ";q=0.5".
func lists(headers [][]byte, word string) bool {
	for _, h := range headers {
		for one := range strings.SplitSeq(string(h), ",") {
			one, _, _ = strings.Cut(one, ";")
			if strings.EqualFold(strings.TrimSpace(one), word) {
				return true
			}
		}
	}
	return false
}

func paramsOf(args *fasthttp.Args) Params {
	p := make(Params, args.Len())
	for k, v := range args.All() {
		name := strings.ToLower(string(k))
		if _, known := p[name]; !known {
			p[name] = string(v)
		}
	}
	return p
}

// decoded returns the decompressed body, and reserves the memory that parsing it needs.
// Errors: fault.Invalid; errTooLarge; errors of the hold.
func (r *request) decoded() ([]byte, error) {
	b := r.raw
	switch r.encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		var err error
		if b, err = gunzip(r.raw, r.maxBody, r.hold); err != nil {
			return nil, err
		}
	default:
		return nil, fault.Invalidf(fault.NoPlace, "Content-Encoding %q is not supported", r.encoding)
	}
	return b, r.hold.Take(document.MemoryNeed(b, r.bodyFormat(b)))
}

// largeRequest is the size in bytes above which a body is large. Parsing and executing a
// large body keeps a core busy.
const largeRequest = 64 << 10

// large reports whether the body is large, or may become large when it is decompressed or its
// YAML aliases are expanded.
func (r *request) large() bool {
	if len(r.raw) > largeRequest || r.encoding != "" && len(r.raw) > 0 {
		return true
	}
	return bytes.IndexByte(r.raw, '&') >= 0 && bytes.IndexByte(r.raw, '*') >= 0 && r.bodyFormat(r.raw) == document.YAML
}

// bodyFormat returns the format of a body.
func (r *request) bodyFormat(b []byte) document.Format {
	switch {
	case r.takesXML && document.IsXML(b):
		return document.XML
	case r.isYAML(b):
		return document.YAML
	}
	return document.JSON
}

// isYAML reports whether a body is YAML: the Content-Type says so, or the body does not begin
// like JSON.
func (r *request) isYAML(b []byte) bool { return r.yamlType || document.Sniff(b) }

// body returns the decoded body. An empty body is an error.
// Errors: fault.Invalid; errTooLarge; errors of the hold.
func (r *request) body() ([]byte, error) {
	b, err := r.decoded()
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return nil, fault.Invalidf(0, "The request needs a body")
	}
	return b, nil
}
