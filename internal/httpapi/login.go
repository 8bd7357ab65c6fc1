package httpapi

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
)

// Credentials authenticates callers. Proven reads the permissions of a member in a separate call,
// because a request may be refused before its permissions are needed.
type Credentials interface {
	Basic(ctx context.Context, username, password, addr string) (auth.Login, error)
	Bearer(ctx context.Context, token string) (auth.Login, error)
	Proven(ctx context.Context, l auth.Login) (auth.Actor, error)
	// Watch returns a context that ends when the login becomes invalid or the member loses rights.
	Watch(ctx context.Context, l auth.Login, who auth.Actor) (watched context.Context, stop func())
}

// challenge is sent with every 401 except those of scrapePath. Some clients wait for it before
// they send credentials.
const challenge = `Basic realm="alds"`

// authenticate is the middleware that authenticates the caller.
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

// ofAddress waits for a slot of the client's address if the request comes through a trusted
// proxy. The connections of a proxy are not limited by address.
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

// ticketName is the start of the name of a cookie that existing clients send. The name ends
// with the instance.
const ticketName = ".V1.Ticket."

// credentials returns the Authorization header. If there is none, it returns the ticket of the
// cookie, which is an access token, in the form of such a header. Spec: interface 5.3.
func (a *API) credentials(c *fiber.Ctx) string {
	if header := c.Get(fiber.HeaderAuthorization); header != "" {
		return header
	}
	return a.ticket(c)
}

// ticket returns the access token in the cookie, in the form of an Authorization header. It is
// empty if there is no such cookie.
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

// login authenticates a caller by an Authorization header. addr is the client's address.
// Errors: fault.Unproven; errors of Credentials.
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
