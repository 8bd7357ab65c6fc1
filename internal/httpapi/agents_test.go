package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/events/feed"
	"github.com/alds-dev/alds/internal/limits/memory"
)

// withAgents returns an API with a door for agents that repeats the call, or asks the interface as askInner does.
func withAgents(log io.Writer, o Options) *API {
	e := engines{}
	o.Instance, o.MaxBody, o.Log = "alds", maxBody, slog.New(slog.NewJSONHandler(log, nil))
	o.Agents = func(api http.RoundTripper) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Inner") != "" {
				askInner(api, w, r)
				return
			}
			body, err := io.ReadAll(r.Body)
			fmt.Fprintf(w, "call %s %s %v", r.Header.Get("Authorization"), body, err)
		})
	}
	return New(fixed(Engines{Credentials: e, Audit: e, Queries: e, Writes: e, Metadata: e}), o)
}

func TestCallsOfAgents(t *testing.T) {
	for _, c := range []struct {
		name, method, path, body string
		header                   []string
		status                   int
		says                     string
	}{
		{"a call", "POST", "/alds/mcp", `{"id": 1}`, nil, 200, `call Basic YWRtaW46YTpi {"id": 1} <nil>`},
		{"a call that asks the interface", "POST", "/alds/mcp", `{}`, []string{"Inner", "POST /alds/query.v1"}, 200, `200 application/json`},
		{"no credentials", "POST", "/alds/mcp", `{}`, []string{"Authorization", ""}, 401, "Authentication is required"},
		{"wrong credentials", "POST", "/alds/mcp", `{}`, []string{"Authorization", "Bearer wrong"}, 401, ""},
		{"GET", "GET", "/alds/mcp", ``, nil, 405, ""},
		{"DELETE", "DELETE", "/alds/mcp", ``, nil, 405, ""},
		{"a list of calls", "POST", "/alds/mcp", ` [{"id": 1}, {"id": 2}]`, nil, 400, "one JSON object"},
		{"no body", "POST", "/alds/mcp", ``, nil, 400, "one JSON object"},
		{"no JSON", "POST", "/alds/mcp", `{"id"`, nil, 400, ""},
		{"deep JSON", "POST", "/alds/mcp", `{"params": ` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`, nil, 400, ""},
		{"a large body", "POST", "/alds/mcp", `{"a": "` + strings.Repeat("x", maxCall) + `"}`, nil, 413, ""},
		{"a page of another site", "POST", "/alds/mcp", `{}`, []string{"Origin", "http://evil.example"}, 403, "another site"},
		{"a form of another site", "POST", "/alds/mcp", `{}`, []string{"Sec-Fetch-Site", "cross-site"}, 403, "another site"},
		{"discovery of a provider", "GET", "/.well-known/oauth-protected-resource/alds/mcp", ``, []string{"Authorization", ""}, 404, ""},
		{"discovery of a provider below the instance", "GET", "/alds/.well-known/oauth-authorization-server", ``, nil, 404, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log bytes.Buffer
			a := withAgents(&log, Options{})
			resp, body := call(t, a, c.method, c.path, c.body, append([]string{"Content-Type", "application/json"}, c.header...)...)
			if resp.StatusCode != c.status || !strings.Contains(body, c.says) {
				t.Errorf("%d %s, want %d with %s", resp.StatusCode, body, c.status, c.says)
			}
			if challenge := resp.Header.Get("WWW-Authenticate"); c.status == 401 && challenge != agentChallenge {
				t.Errorf("the challenge is %q", challenge)
			}
			if n, _ := a.memory.Used(); n != 0 {
				t.Errorf("%d bytes are still reserved", n)
			}
		})
	}
}

// TestACallOfAnAgentReservesMemory checks that a call is refused if its memory is not there.
func TestACallOfAnAgentReservesMemory(t *testing.T) {
	var log bytes.Buffer
	a := withAgents(&log, Options{Memory: memory.NewBudget(callMemory)})
	if resp, body := call(t, a, "POST", "/alds/mcp", `{}`); resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "memory") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// TestAWaitEndsWithItsCall checks that a wait for changes within the process ends when the call ends that sent it.
// Otherwise calls whose clients have left would hold the slots of their member for the whole wait.
func TestAWaitEndsWithItsCall(t *testing.T) {
	var log bytes.Buffer
	e := engines{}
	waits := &script{page: func(int64) (feed.Page, error) { return feed.Page{}, nil }}
	o := Options{Instance: "alds", Log: slog.New(slog.NewJSONHandler(&log, nil)), Agents: func(api http.RoundTripper) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithCancel(r.Context())
			time.AfterFunc(10*time.Millisecond, cancel) // the client leaves
			inner, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://x/alds/api/changes?after=0&wait=60", nil)
			if err != nil {
				panic(err)
			}
			inner.Header.Set("Authorization", r.Header.Get("Authorization"))
			got, err := api.RoundTrip(inner)
			if err != nil {
				panic(err)
			}
			fmt.Fprintf(w, "the wait ended with %d", got.StatusCode)
		})
	}}
	a := New(fixed(Engines{Credentials: e, Audit: e, Changes: waits}), o)
	if _, body := call(t, a, "POST", "/alds/mcp", `{}`); body == "the wait ended with 200" || !strings.HasPrefix(body, "the wait ended") {
		t.Error(body)
	}
}

// TestWithoutAgents checks that there is no door if nothing is behind it.
func TestWithoutAgents(t *testing.T) {
	var log bytes.Buffer
	if resp, body := call(t, newAPI(engines{}, &log), "POST", "/alds/mcp", `{}`); resp.StatusCode != http.StatusNotFound {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}
