package httpapi

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/alds-dev/alds/internal/fault"
)

// challenge is sent with every 401: some clients wait for it before they send
// credentials.
const challenge = `Basic realm="alds"`

// login returns the member of an Authorization header. Errors: fault.Unproven.
// Spec: interface 5.
func (a *API) login(ctx context.Context, header, addr string) (member int64, err error) {
	scheme, value, _ := strings.Cut(strings.TrimSpace(header), " ")
	value = strings.TrimSpace(value)
	switch {
	case strings.EqualFold(scheme, "Basic"):
		user, password, ok := basic(value)
		if !ok {
			return 0, fault.Unprovenf("The Authorization header is malformed")
		}
		return a.credentials.Basic(ctx, user, password, addr)
	case strings.EqualFold(scheme, "Bearer"):
		return a.credentials.Bearer(ctx, value)
	}
	return 0, fault.Unprovenf("Authentication is required")
}

func basic(value string) (user, password string, ok bool) {
	b, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		if b, err = base64.RawStdEncoding.DecodeString(value); err != nil {
			return "", "", false
		}
	}
	return strings.Cut(string(b), ":")
}
