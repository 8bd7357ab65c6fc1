package httpapi

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/alds-dev/alds/internal/doc"
	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/memory"
)

// Params are query parameters by lower-case name. Of a repeated one the first
// counts.
type Params map[string]string

// valid refuses a value that is no UTF-8, which the databases would take in
// different ways. One that nobody reads is refused as well: the URL is in another
// encoding then.
// Errors: fault.Invalid.
func (p Params) valid() error {
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if !utf8.ValidString(p[name]) {
			return notUTF8(strings.ToValidUTF8(name, "\ufffd"))
		}
	}
	return nil
}

func notUTF8(name string) error {
	return fault.Invalidf(fault.NoPlace, "%s is not valid UTF-8", name)
}

// flag reports whether the parameter is there and says true. Whoever asks for a
// preview in another word must not get a change.
// Errors: fault.Invalid.
func (p Params) flag(name string) (bool, error) {
	switch said := p[strings.ToLower(name)]; strings.ToLower(said) {
	case "true":
		return true, nil
	case "", "false":
		return false, nil
	}
	return false, fault.Invalidf(fault.NoPlace, "%s must be true or false", name)
}

// request is what handlers see of an HTTP request.
type request struct {
	base     string                   // what hrefs start with, such as /alds/rest-1.v1/Data
	param    func(name string) string // of the path
	params   Params
	yamlType bool
	raw      []byte // as received
	encoding string
	maxBody  int
	hold     *memory.Hold
	ifMatch  string
	headers  [][2]string // of the answer
	stream   Stream      // makes the answer, when set
	key      string      // Idempotency-Key
	later    bool        // Prefer: respond-async
	status   int         // of the answer; 0: 200
}

// newRequest takes a request apart, but for its body. Errors: fault.Invalid for
// a parameter or a key that is no text.
func (a *API) newRequest(c *fiber.Ctx, base string) (*request, error) {
	h := &c.Request().Header
	req := &request{
		base: base, param: func(name string) string { return strings.Clone(c.Params(name)) }, params: paramsOf(c.Request().URI().QueryArgs()),
		yamlType: strings.Contains(strings.ToLower(string(h.ContentType())), "yaml"),
		encoding: strings.ToLower(strings.TrimSpace(string(h.ContentEncoding()))),
		maxBody:  a.maxBody,
		ifMatch:  string(h.Peek("If-Match")),
		key:      strings.TrimSpace(string(h.Peek("Idempotency-Key"))),
		later:    prefers(h.PeekAll("Prefer"), respondAsync),
	}
	if !utf8.ValidString(req.key) {
		return nil, notUTF8("Idempotency-Key")
	}
	return req, req.params.valid()
}

func paramsOf(args *fasthttp.Args) Params {
	p := make(Params, args.Len())
	for k, v := range args.All() {
		name := strings.ToLower(string(k))
		if _, again := p[name]; !again {
			p[name] = string(v)
		}
	}
	return p
}

// unpacked returns the request's body and takes the memory that reading it
// needs. Errors: fault.Invalid; errTooLarge; those of the hold.
func (r *request) unpacked() ([]byte, error) {
	b := r.raw
	switch r.encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		var err error
		if b, err = unpack(r.raw, r.maxBody, r.hold); err != nil {
			return nil, err
		}
	default:
		return nil, fault.Invalidf(fault.NoPlace, "Content-Encoding %q is not supported", r.encoding)
	}
	return b, r.hold.Take(doc.Need(b, r.isYAML(b)))
}

// largeRequest is the size from which on a body is large, in bytes: reading it
// and carrying out what it asks keeps a core busy for more than a moment.
const largeRequest = 64 << 10

// large reports whether the body is large, or may be when it is unpacked or its
// aliases are followed.
func (r *request) large() bool {
	if len(r.raw) > largeRequest || r.encoding != "" && len(r.raw) > 0 {
		return true
	}
	return bytes.IndexByte(r.raw, '&') >= 0 && bytes.IndexByte(r.raw, '*') >= 0 && r.isYAML(r.raw)
}

// isYAML reports whether a body is YAML. The Content-Type is no reliable sign:
// unless it says YAML, what does not begin like JSON is YAML.
func (r *request) isYAML(b []byte) bool { return r.yamlType || doc.Sniff(b) }

// body is unpacked for a request that needs one. Errors: also fault.Invalid.
func (r *request) body() ([]byte, error) {
	b, err := r.unpacked()
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return nil, fault.Invalidf(0, "The request needs a body")
	}
	return b, nil
}

// doc returns the body as JSON or YAML.
func (r *request) doc() (Doc, error) {
	b, err := r.body()
	if err != nil {
		return Doc{}, err
	}
	return Doc{Body: b, YAML: r.isYAML(b)}, nil
}
