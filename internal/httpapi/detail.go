package httpapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/oid"
)

// assetDetail serves GET assetdetail.v1?oid=<Oid>, the URL of an asset in events. It redirects
// to the data path of the asset. Spec: interface 4.14.
func (a *API) assetDetail(_ context.Context, _ auth.Actor, r *request) ([]byte, error) {
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
	r.status = http.StatusFound
	r.set(fiber.HeaderLocation, a.base(Route{Path: "rest-1.v1/Data"})+"/"+strings.ReplaceAll(o.String(), ":", "/"))
	return nil, nil
}
