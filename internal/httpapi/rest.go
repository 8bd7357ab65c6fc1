package httpapi

import (
	"context"
	"strings"

	"github.com/alds-dev/alds/internal/auth"
)

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

func pathRead(r *request) PathRead {
	p := PathRead{Base: r.base, Params: r.params}
	rest := ""
	if typ, oid, ok := strings.Cut(r.param("type"), ":"); ok {
		p.Type = typ
		p.ID, p.Moment, _ = strings.Cut(oid, ":")
		rest = joined(r.param("id"), r.param("+"))
	} else {
		p.Type, p.ID = r.param("type"), r.param("id")
		rest = r.param("+")
	}
	if p.Moment == "" {
		if first, more, _ := strings.Cut(rest, "/"); isDigits(first) {
			p.Moment, rest = first, strings.TrimLeft(more, "/")
		}
	}
	p.Attr = rest
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
