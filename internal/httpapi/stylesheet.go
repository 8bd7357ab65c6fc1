package httpapi

import (
	"context"
	_ "embed" // the stylesheet

	"github.com/alds-dev/alds/internal/access/auth"
)

// stylesheet is the path, and the value of the parameter xsl, of what shows answers in XML
// to people. No other may be named: it could say what it likes in the name of the service.
const stylesheet = "api.xsl"

//go:embed api.xsl
var apiXSL []byte

// apiStylesheet serves GET api.xsl. Spec: interface 4.2.
func (*API) apiStylesheet(_ context.Context, _ auth.Actor, r *request) ([]byte, error) {
	r.contentType = "application/xslt+xml"
	return apiXSL, nil
}
