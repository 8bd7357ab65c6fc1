package command

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/alds-dev/alds/internal/app/config"
	"github.com/alds-dev/alds/internal/base/release"
	"github.com/alds-dev/alds/internal/mcp"
)

// mcpCommand answers an agent over standard input and output. It is a client of a running service,
// so it needs none of the settings of a process.
type mcpCommand struct {
	URL   string `name:"url" help:"Address of the service. Default: ALDS_URL."`
	Token string `help:"Access token. Default: ALDS_TOKEN, which other users of the machine cannot read."`
}

// agentTimeout is the time limit of one request to the service. It is longer than the longest wait
// for changes.
const agentTimeout = 2 * time.Minute

// Run answers the agent until standard input ends.
func (m mcpCommand) Run(ctx context.Context, o outside) error {
	service := config.ClientFromEnv(o.Getenv)
	address, token := cmp.Or(m.URL, service.URL), cmp.Or(m.Token, service.Token.Reveal())
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return errors.New("mcp: the address of the service must have the form http://host:port/alds")
	}
	header := http.Header{}
	switch {
	case token != "":
		header.Set("Authorization", "Bearer "+token)
	case u.User == nil:
		return errors.New("mcp: needs an access token, in ALDS_TOKEN or --token")
	}
	s := mcp.New(mcp.Options{
		API: timeLimited{agentTimeout}, URL: address, Header: header, Release: release.Version(), Log: slog.New(slog.NewTextHandler(o.Stderr, nil)),
	})
	return s.ServeIO(ctx, o.stdin, o.stdout)
}

// timeLimited sends requests with a time limit.
type timeLimited struct{ limit time.Duration }

// RoundTrip sends a request and reads the whole answer.
func (t timeLimited) RoundTrip(r *http.Request) (*http.Response, error) {
	return (&http.Client{Timeout: t.limit, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(r)
}
