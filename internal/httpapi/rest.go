package httpapi

import (
	"context"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/query/encode"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/write/rest"
)

// Writes changes one asset at a time. Every method returns the JSON or XML to send.
type Writes interface {
	Write(ctx context.Context, who auth.Actor, w rest.Write) ([]byte, error)
	Template(ctx context.Context, who auth.Actor, form encode.Form, typ, context string) ([]byte, error)
}

// readPath serves GET rest-1.v1/Data/<Type>[/<id>[/<moment>][/<attribute token>]]. An Oid
// token may replace type and id. Spec: interface 4.1.
func (*API) readPath(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	q, err := query.FromParams(r.address(), r.params.values())
	if err != nil {
		return nil, err
	}
	r.stream, err = r.localized(ctx, r.assets(who, q.Current(), r.base))
	return nil, err
}

// readHistory serves GET rest-1.v1/Hist/<Type>[/<id>] with one row per version. The hrefs of
// the rows are under Data.
func (*API) readHistory(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	at := r.address()
	at.Moment = ""
	q, err := query.FromParams(at, r.params.values())
	if err != nil {
		return nil, err
	}
	q.History, q.Momented = true, true
	r.stream, err = r.localized(ctx, r.assets(who, q, strings.TrimSuffix(r.base, "Hist")+"Data"))
	return nil, err
}

func (r *request) assets(who auth.Actor, q query.Request, base string) Stream {
	return func(ctx context.Context, flush find.Flush) ([]byte, error) {
		return r.engines.Queries.Assets(ctx, who, q, r.form(base), flush)
	}
}

// address returns the type, id, moment and attribute in the path under Data, Hist or New.
func (r *request) address() query.Address {
	return query.AddressOf(strings.TrimRight(strings.Join([]string{r.param("type"), r.param("id"), r.param("+")}, "/"), "/"))
}

// writePath serves POST rest-1.v1/Data/<Type>[/<id>[/<moment>]]. An Oid token may replace type
// and id. The moment is ignored. Spec: interface 4.1.
func (*API) writePath(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	at := r.address()
	if id, err := strconv.ParseInt(at.ID, 10, 64); err == nil {
		r.asset = oid.OID{Type: at.Type, ID: id}
	}
	if at.Attr != "" || at.ID == "" && r.params["op"] != "" {
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
	return r.engines.Writes.Write(ctx, who, rest.Write{
		Form: r.form(r.base), Type: at.Type, ID: at.ID, Op: r.params["op"], Context: r.params["ctx"],
		Comment: unquoted(r.params["comment"]), Key: r.key, IfMoment: moment, Body: body, Language: r.languages,
	})
}

// template serves GET rest-1.v1/New/<Type>. Spec: interface 4.1.
func (*API) template(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return r.engines.Writes.Template(ctx, who, r.form(r.base), r.param("type"), r.params["ctx"])
}

// ifMoment reads an If-Match header: a moment, or an Oid token with a moment, with or without
// quotes. It returns 0 if the header allows any moment, and oid.MomentZero for the moment 0.
// Errors: fault.Invalid.
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
	if err == nil && n == 0 {
		return oid.MomentZero, nil
	}
	if err != nil || n < 0 {
		return 0, fault.Invalidf(fault.NoPlace, "If-Match must be a moment, or an Oid token with one")
	}
	return n, nil
}
