package httpapi

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/base/fault"
)

// TestALossOfRightsIsAnswered checks that a request that fails because of a loss of rights gets the
// error for this loss. A request that does not fail gets its answer.
func TestALossOfRightsIsAnswered(t *testing.T) {
	lost := func(cause error) func(context.Context) (context.Context, func()) {
		return func(ctx context.Context) (context.Context, func()) {
			ctx, end := context.WithCancelCause(ctx)
			end(cause)
			return ctx, func() {}
		}
	}
	ended := fault.Transientf(context.Canceled, "the request took too long or was given up")
	for _, c := range []struct {
		why        string
		cause, err error
		status     int
		message    string
	}{
		{"a role", fault.Deniedf("less"), ended, http.StatusForbidden, `"less"`},
		{"a login", fault.Unprovenf("gone"), ended, http.StatusUnauthorized, `"gone"`},
		{"nothing", nil, ended, http.StatusServiceUnavailable, "given up"},
		{"a role after the commit", fault.Deniedf("less"), nil, http.StatusOK, "bulk"},
	} {
		var log bytes.Buffer
		a := newAPI(engines{watch: lost(c.cause), err: c.err}, &log)
		a.refusalDelay = 0
		resp, body := call(t, a, "POST", "/alds/api/asset", "{}")
		if resp.StatusCode != c.status || !strings.Contains(body, c.message) {
			t.Errorf("%s: %d %s", c.why, resp.StatusCode, body)
		}
	}
}
