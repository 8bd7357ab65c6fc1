package httpapi

import (
	"context"

	"github.com/alds-dev/alds/internal/access/auth"
)

// Tokens manages access tokens and sessions for the member who signed in.
type Tokens interface {
	MakeToken(ctx context.Context, l auth.Login, who auth.Actor, body []byte, yaml bool) (auth.TokenView, error)
	ListTokens(ctx context.Context, l auth.Login, who auth.Actor, member string) (auth.TokenList, error)
	EndToken(ctx context.Context, l auth.Login, who auth.Actor, id string) (auth.TokenView, error)
}

// makeToken serves POST api/tokens. Spec: interface 5.9.
func (*API) makeToken(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	b, err := r.body()
	if err != nil {
		return nil, err
	}
	return encoded(r.engines.Tokens.MakeToken(ctx, r.login, who, b, r.isYAML(b)))
}

// listTokens serves GET api/tokens. Spec: interface 5.9.
func (*API) listTokens(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return encoded(r.engines.Tokens.ListTokens(ctx, r.login, who, r.params["member"]))
}

// revokeToken serves POST api/tokens/revoke/<id>. Spec: interface 5.9.
func (*API) revokeToken(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return encoded(r.engines.Tokens.EndToken(ctx, r.login, who, r.param("id")))
}
