package httpapi

import (
	"context"

	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/oid"
	"github.com/alds-dev/alds/internal/query"
)

// assetDetail serves GET assetdetail.v1?oid=<Oid>, to which events lead, with the
// asset as the data path has it. Spec: interface 4.14.
func (a *API) assetDetail(_ context.Context, who auth.Actor, r *request) ([]byte, error) {
	text := unquoted(r.params["oid"])
	if text == "" {
		return nil, fault.Invalidf(fault.NoPlace, "The URL names no asset: assetdetail.v1?oid=<Oid>")
	}
	o, err := oid.Parse(text)
	if err != nil {
		return nil, err
	}
	if o.IsNull() {
		return nil, fault.NotFoundf("Not Found")
	}
	q, err := query.FromParams(query.AddressOf(o.String()), nil)
	if err != nil {
		return nil, err
	}
	r.stream = r.assets(who, q, a.base(Route{Path: "rest-1.v1/Data"}))
	return nil, nil
}
