package httpapi

import (
	"context"
	"strings"

	"github.com/alds-dev/alds/internal/auth"
)

// mimeXML is the Content-Type of XML as existing clients look for it.
const mimeXML = "text/xml; charset=utf-8"

// configuration serves GET config.v1: XML, which all existing clients read, unless
// JSON is asked for. Spec: interface 4.11.
func (*API) configuration(_ context.Context, _ auth.Actor, r *request) ([]byte, error) {
	if r.wantsJSON() {
		return r.answer(r.engines.Configuration.JSON), nil
	}
	r.contentType = mimeXML
	return r.answer(r.engines.Configuration.XML), nil
}

// wantsJSON reports whether the client names JSON, in Accept or in the parameter of
// that name.
func (r *request) wantsJSON() bool {
	for _, text := range []string{r.accept, r.params["accept"]} {
		text = strings.ToLower(text)
		if strings.Contains(text, "application/json") || strings.Contains(text, "text/json") {
			return true
		}
	}
	return false
}
