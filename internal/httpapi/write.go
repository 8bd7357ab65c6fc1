package httpapi

import (
	"context"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/fault"
)

// writePath serves POST rest-1.v1/Data/<Type>[/<id>[/<moment>]], where an Oid
// token may stand for type and id; the moment means nothing. Spec: interface 4.1.
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
	return a.writes.Write(ctx, who, PathWrite{
		Base: r.base, Type: p.Type, ID: p.ID, Op: r.params["op"], Context: r.params["ctx"],
		Comment: unquoted(r.params["comment"]), Key: r.key, IfMoment: moment, Body: body,
	})
}

// template serves GET rest-1.v1/New/<Type>. Spec: interface 4.1.
func (a *API) template(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return a.writes.Template(ctx, who, r.base, r.param("type"), r.params["ctx"])
}

// ifMoment reads If-Match: a moment, or an Oid token with one, in quotes or
// not. 0 is any.
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
