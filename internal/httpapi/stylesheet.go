package httpapi

import (
	"context"
	_ "embed" // the stylesheet

	"github.com/alds-dev/alds/internal/access/auth"
)

// stylesheet is the path of the stylesheet that shows XML answers to people. The parameter xsl may
// name no other stylesheet, since another stylesheet could show any text as if it came from the
// service.
const stylesheet = "api.xsl"

//go:embed api.xsl
var apiXSL []byte

// apiStylesheet serves GET api.xsl. Spec: interface 4.2.
func (*API) apiStylesheet(_ context.Context, _ auth.Actor, r *request) ([]byte, error) {
	r.contentType = "application/xslt+xml"
	return apiXSL, nil
}
