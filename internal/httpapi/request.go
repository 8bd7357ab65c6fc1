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
	"github.com/alds-dev/alds/internal/base/doc"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/model/oid"
)

// Params are the first values of query parameters by lower-case name.
type Params map[string]string

// valid refuses values that are not UTF-8, which databases treat differently,
// unused ones too: the URL has another encoding then.
// Errors: fault.Invalid.
func (p Params) valid() error {
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if !utf8.ValidString(p[name]) {
			return notUTF8(strings.ToValidUTF8(name, "\ufffd"))
		}
	}
	return nil
}

// values returns the parameters as package query reads them.
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

// flag reads a boolean parameter, false if absent. Other words are refused: a
// misspelled preview must not become a change.
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

// request is what handlers read of a request and set for its answer.
type request struct {
	base        string                   // what hrefs start with, such as /alds/rest-1.v1/Data
	param       func(name string) string // of the path
	params      Params
	yamlType    bool   // the Content-Type says YAML
	takesXML    bool   // the body of a write by path may be XML
	raw         []byte // the body as received
	encoding    string
	maxBody     int
	hold        *memory.Hold
	ifMatch     string
	ifNoneMatch string
	accepts     string // Accept-Encoding
	accept      string
	format      doc.Format // of the answer
	stylesheet  string     // instruction in an answer in XML; empty: none
	languages   string     // Accept-Language
	query       string     // as the URL has it
	key         string     // Idempotency-Key
	async       bool       // Prefer: respond-async
	lastEventID string     // of the live stream that goes on
	http11      bool

	login   auth.Login // by which the caller was proven
	engines *Engines   // of this request, to the end of its answer

	asset       oid.OID // that a write is about, once the handler has read the path
	status      int     // 0: 200
	headers     [][2]string
	contentType string    // empty: that of the format
	varies      string    // what a cached answer depends on, too; ", " in front
	stream      Stream    // makes the body, when set
	file        *file     // is the body, when set
	follow      *follower // the request waits, when set

	head     bool   // HEAD: the answer has no body
	span     string // Range
	ifRange  string
	incoming *requestBody                    // of an upload; raw is empty
	admit    func(ctx context.Context) error // of an upload: waits for its turn to write
}

// newRequest reads a request without its body. Errors: fault.Invalid for a
// parameter or key that is not UTF-8.
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

// lists reports whether one of the headers of a name lists a word, parameters aside.
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

// decoded returns the body without its Content-Encoding, and takes the memory
// that parsing it needs. Errors: fault.Invalid; errTooLarge; those of the hold.
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
	return b, r.hold.Take(doc.MemoryNeed(b, r.bodyFormat(b)))
}

// largeRequest is the size in bytes above which a body is large: parsing and
// executing it keeps a core busy.
const largeRequest = 64 << 10

// large reports whether the body is large, or may become so when it is
// decompressed or its YAML aliases are expanded.
func (r *request) large() bool {
	if len(r.raw) > largeRequest || r.encoding != "" && len(r.raw) > 0 {
		return true
	}
	return bytes.IndexByte(r.raw, '&') >= 0 && bytes.IndexByte(r.raw, '*') >= 0 && r.bodyFormat(r.raw) == doc.YAML
}

// bodyFormat returns how a body is written.
func (r *request) bodyFormat(b []byte) doc.Format {
	switch {
	case r.takesXML && doc.IsXML(b):
		return doc.XML
	case r.isYAML(b):
		return doc.YAML
	}
	return doc.JSON
}

// isYAML reports whether a body is YAML: the Content-Type says so, or it does not
// begin like JSON.
func (r *request) isYAML(b []byte) bool { return r.yamlType || doc.Sniff(b) }

// body returns the decoded body of a request that needs one.
// Errors: fault.Invalid; errTooLarge; those of the hold.
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
