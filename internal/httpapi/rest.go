package httpapi

import (
	"context"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/rest"
)

// Writes changes one asset at a time. Every answer is the JSON to send.
type Writes interface {
	Write(ctx context.Context, who auth.Actor, w rest.Write) ([]byte, error)
	Template(ctx context.Context, who auth.Actor, base, typ, context string) ([]byte, error)
}

// PathRead is a read by path.
//
//	rest-1.v1/Data/Story/1064/Owners?sel=Name
//	{Base: "/alds/rest-1.v1/Data", Type: "Story", ID: "1064", Attr: "Owners", Params: {"sel": "Name"}}
type PathRead struct {
	Base   string // what hrefs start with; keeps the alias of the request
	Type   string // as the client wrote it
	ID     string // digits; empty for all assets of the type
	Moment string // digits; empty for now
	Attr   string // attribute token; empty for the whole asset
	Hist   bool   // all versions
	Params Params
}

// readPath serves GET rest-1.v1/Data/<Type>[/<id>[/<moment>][/<attribute token>]],
// where an Oid token may stand for type and id. Spec: interface 4.1.
func (a *API) readPath(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return a.readAssets(ctx, who, r, pathRead(r))
}

func (a *API) readAssets(ctx context.Context, who auth.Actor, r *request, p PathRead) ([]byte, error) {
	answer, err := a.queries.Assets(ctx, who, p)
	r.stream = answer.Stream
	return answer.Body, err
}

// readHistory serves GET rest-1.v1/Hist/<Type>[/<id>]: one row per version. The
// rows are addressed under Data.
func (a *API) readHistory(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	p := pathRead(r)
	p.Base = strings.TrimSuffix(p.Base, "Hist") + "Data"
	p.Hist, p.Moment = true, ""
	return a.readAssets(ctx, who, r, p)
}

// pathRead reads the path of a request under Data or Hist.
func pathRead(r *request) PathRead {
	p := PathRead{Base: r.base, Params: r.params, ID: r.param("id"), Attr: r.param("+")}
	typ, oid, isOID := strings.Cut(r.param("type"), ":")
	if p.Type = typ; isOID {
		p.Attr = joined(p.ID, p.Attr)
		p.ID, p.Moment, _ = strings.Cut(oid, ":")
	}
	if p.Moment == "" {
		if first, more, _ := strings.Cut(p.Attr, "/"); isDigits(first) {
			p.Moment, p.Attr = first, strings.TrimLeft(more, "/")
		}
	}
	return p
}

func joined(a, b string) string {
	if b == "" {
		return a
	}
	return a + "/" + b
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// writePath serves POST rest-1.v1/Data/<Type>[/<id>[/<moment>]], where an Oid
// token may stand for type and id; the moment is ignored. Spec: interface 4.1.
func (a *API) writePath(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	p := pathRead(r)
	if p.Attr != "" || p.ID == "" && r.params["op"] != "" {
		return nil, methodError{allow: methodGet}
	}
	var body []byte
	if len(r.raw) > 0 {
		var err error
		if body, err = r.decoded(); err != nil {
			return nil, err
		}
	}
	moment, err := ifMoment(r.ifMatch)
	if err != nil {
		return nil, err
	}
	return a.writes.Write(ctx, who, rest.Write{
		Base: r.base, Type: p.Type, ID: p.ID, Op: r.params["op"], Context: r.params["ctx"],
		Comment: unquoted(r.params["comment"]), Key: r.key, IfMoment: moment, Body: body,
	})
}

// template serves GET rest-1.v1/New/<Type>. Spec: interface 4.1.
func (a *API) template(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return a.writes.Template(ctx, who, r.base, r.param("type"), r.params["ctx"])
}

// ifMoment reads If-Match: a moment, or an Oid token with one, quoted or not.
// 0 stands for any moment. Errors: fault.Invalid.
func ifMoment(header string) (int64, error) {
	tag := strings.TrimSpace(header)
	if tag == "" || tag == "*" {
		return 0, nil
	}
	tag = strings.Trim(strings.TrimPrefix(tag, "W/"), `"`)
	if i := strings.LastIndexByte(tag, ':'); i >= 0 {
		tag = tag[i+1:]
	}
	n, err := strconv.ParseInt(tag, 10, 64)
	if err != nil || n < 1 {
		return 0, fault.Invalidf(fault.NoPlace, "If-Match must be a moment, or an Oid token with one")
	}
	return n, nil
}
