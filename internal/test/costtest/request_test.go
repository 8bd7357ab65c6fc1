package costtest

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

const (
	maxBody = 100_000 // bytes; a larger request is reduced
	maxURL  = 30_000
)

// The media types of bodies.
const (
	asJSON = "application/json"
	asYAML = "text/yaml"
	asXML  = "text/xml"
	asForm = "application/x-www-form-urlencoded"
	asFile = "image/png"
)

// request is an HTTP request. The field who is the username of the member who sends it.
type request struct {
	kind, who, method, path string
	params                  dict // parameters of the URL
	header                  dict
	form                    string // media type of the body; empty: no body
	body                    any
	later                   bool // true: a worker executes the request asynchronously
	writes                  bool
}

// encoded returns the parameters in the encoding of URLs and forms. It stops after most bytes.
func encoded(d dict, most int) string {
	var b strings.Builder
	for _, m := range d {
		if v, ok := m.Value.(text); ok && b.Len() < most {
			if b.Len() > 0 {
				b.WriteByte('&')
			}
			b.WriteString(m.Key + "=" + url.QueryEscape(v.String()))
		}
	}
	return b.String()
}

// url returns the path with the URL parameters.
func (r *request) url() string {
	if len(r.params) == 0 {
		return r.path
	}
	if only := r.params.get(""); only != nil { // loc-2.v1 has a single parameter that has no name
		return r.path + "?" + url.QueryEscape(only.(text).String())
	}
	return r.path + "?" + encoded(r.params, maxURL)
}

// text returns the encoded body. A body of more than maxBody bytes is cut somewhere after this number.
func (r *request) text() []byte {
	e := &encoder{yaml: r.form == asYAML, most: maxBody}
	switch d, isDict := r.body.(dict); {
	case r.form == "":
	case r.form == asXML && isDict:
		e.xml(d)
	case r.form == asForm && isDict:
		e.WriteString(encoded(d, maxBody))
	case r.form == asFile:
		e.WriteString(r.body.(text).String())
	default:
		e.value(r.body, "")
	}
	return e.Bytes()
}

// fit reduces the numbers of repetitions until the request is within maxBody and maxURL. It returns false
// if the request is too large even when nothing is repeated.
func (r *request) fit() bool {
	for len(r.text()) > maxBody {
		n := largest(r.body)
		if n == 0 {
			return false
		}
		r.body = atMost(r.body, n*3/4)
	}
	for len(r.url()) > maxURL {
		n := largest(r.params)
		if n == 0 {
			return false
		}
		r.params = atMost(r.params, n*3/4).(dict)
	}
	return true
}

// size returns the number of bytes of the URL and the body.
func (r *request) size() int { return len(r.url()) + len(r.text()) }

// smaller returns copies of the request. Each copy is reduced in one place. The smallest copies come first.
func (r *request) smaller() (all []*request) {
	for _, params := range smaller(r.params) {
		c := *r
		c.params = params.(dict)
		all = append(all, &c)
	}
	for _, header := range smaller(r.header) {
		c := *r
		c.header = header.(dict)
		all = append(all, &c)
	}
	for _, body := range smaller(r.body) {
		c := *r
		c.body = body
		all = append(all, &c)
	}
	slices.SortStableFunc(all, func(a, b *request) int { return a.size() - b.size() })
	return all
}

// String describes the request. A repeated part is written once, with its number of repetitions.
func (r *request) String() string {
	return fmt.Sprintf("%s: %s %s by %s\n%s%s%s", r.kind, r.method, r.path, r.who, told("?", r.params), told("header ", r.header), told(r.form+" ", r.body))
}

func told(what string, v any) string {
	if d, ok := v.(dict); v == nil || ok && len(d) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(what)
	show(&b, v)
	b.WriteByte('\n')
	return b.String()
}

func show(b *strings.Builder, v any) {
	switch v := v.(type) {
	case text:
		for i, p := range v {
			if i > 0 {
				b.WriteString(" + ")
			}
			of := p.Of
			if len(of) > 300 {
				of = of[:300] + "…"
			}
			fmt.Fprintf(b, "%q", of)
			if p.N != 1 {
				fmt.Fprintf(b, " × %d", p.N)
			}
			if p.Between != "" {
				fmt.Fprintf(b, " with %q", p.Between)
			}
		}
	case dict:
		b.WriteByte('{')
		for i, m := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(b, "%s: ", m.Key)
			show(b, m.Value)
		}
		b.WriteByte('}')
	case list:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			show(b, item)
		}
		b.WriteByte(']')
	case many:
		b.WriteByte('(')
		show(b, v.Of)
		fmt.Fprintf(b, ") × %d", v.N)
		if v.Shared {
			b.WriteString(" by alias")
		}
	default:
		fmt.Fprint(b, v)
	}
}
