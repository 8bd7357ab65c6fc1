package httpapi

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
)

// Credentials authenticates. The permissions of a member are read apart, so that
// a request that is refused before does not read them.
type Credentials interface {
	Basic(ctx context.Context, username, password, addr string) (auth.Login, error)
	Bearer(ctx context.Context, token string) (auth.Login, error)
	Proven(ctx context.Context, l auth.Login) (auth.Actor, error)
	// Watch returns a context that ends when the login or rights of who are lost.
	Watch(ctx context.Context, l auth.Login, who auth.Actor) (watched context.Context, stop func())
}

// challenge is sent with every 401: some clients wait for it before they send
// credentials.
const challenge = `Basic realm="alds"`

// authenticate is the middleware that proves the caller.
func (a *API) authenticate(c *fiber.Ctx) (err error) {
	x := exchangeOf(c)
	if err := a.ofAddress(c, x); err != nil {
		return err
	}
	if x.login, err = a.login(c.UserContext(), a.credentials(c), x.client); err != nil {
		return err
	}
	x.who.Member, x.authenticated = x.login.Member, true
	return c.Next()
}

// ofAddress waits for a slot of the client's address behind a trusted proxy, where
// connections are not bounded by address.
func (a *API) ofAddress(c *fiber.Ctx, x *exchange) error {
	if !x.proxied {
		return nil
	}
	leave, err := a.addresses.Enter(c.UserContext(), x.client)
	if err == nil {
		x.onRelease(leave)
	}
	return err
}

// ticketName begins the name of a cookie that existing clients send, which ends with the
// name of the instance.
const ticketName = ".V1.Ticket."

// credentials returns the Authorization header, or what a cookie says in its place:
// the ticket of an existing client is an access token. Spec: interface 5.3.
func (a *API) credentials(c *fiber.Ctx) string {
	if header := c.Get(fiber.HeaderAuthorization); header != "" {
		return header
	}
	return a.ticket(c)
}

// ticket returns what the cookie stands for, as an Authorization header; empty: there is
// none.
func (a *API) ticket(c *fiber.Ctx) string {
	if len(c.Request().Header.Peek(fiber.HeaderCookie)) == 0 {
		return ""
	}
	for name, value := range c.Request().Header.Cookies() {
		if len(value) > 0 && strings.EqualFold(string(name), ticketName+a.instance) {
			return "Bearer " + string(value)
		}
	}
	return ""
}

// login proves an Authorization header. Errors: fault.Unproven.
// Spec: interface 5.
func (a *API) login(ctx context.Context, header, addr string) (auth.Login, error) {
	scheme, value, _ := strings.Cut(strings.TrimSpace(header), " ")
	value = strings.TrimSpace(value)
	switch {
	case strings.EqualFold(scheme, "Basic"):
		user, password, ok := basic(value)
		if !ok {
			return auth.Login{}, fault.Unprovenf("The Authorization header is malformed")
		}
		return a.engines().Credentials.Basic(ctx, user, password, addr)
	case strings.EqualFold(scheme, "Bearer"):
		return a.engines().Credentials.Bearer(ctx, value)
	}
	return auth.Login{}, fault.Unprovenf("Authentication is required")
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
