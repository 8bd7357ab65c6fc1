package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/limits/admission"
)

// scrapePath is the path where monitoring reads metrics. It is not below the instance.
const scrapePath = "/metrics"

// scrapeChallenge is sent with a 401 of scrapePath, where the credentials of members are not
// valid.
const scrapeChallenge = `Bearer realm="metrics"`

// scrapeMemory is the number of bytes that is reserved for an answer with metrics.
const scrapeMemory = 1 << 20

// Scrape serves metrics at the address of the interface, for monitoring that cannot reach the
// admin address.
type Scrape struct {
	Token   string       // token that monitoring must send; empty: no metrics are served
	Metrics http.Handler // writes the metrics
}

// scrapeBounds returns the bounds of requests with the token. The bounds are low, because an answer
// with many time series needs much time.
func scrapeBounds() admission.Bounds {
	return admission.Bounds{Running: 2, PerKey: 1, Line: 4, Waiting: 8, Wait: maxWait}
}

// registerScrape adds the path of metrics to the router.
func (a *API) registerScrape(app *fiber.App) {
	if a.scrape.Token == "" {
		return
	}
	app.Add(methodGet, scrapePath, a.serveScrape)
	refuse := methodNotAllowed(get)
	for _, m := range methods {
		if m != methodGet {
			app.Add(m, scrapePath, refuse)
		}
	}
}

// serveScrape answers a request that has the token. It does not read the body. Metrics are
// collected only after the token has been checked.
func (a *API) serveScrape(c *fiber.Ctx) error {
	x := exchangeOf(c)
	x.route, x.challenge = "metrics", scrapeChallenge
	if err := a.ofAddress(c, x); err != nil {
		return err
	}
	if err := a.scrape.prove(c.Get(fiber.HeaderAuthorization)); err != nil {
		return err
	}
	leave, err := a.scrapers.Enter(c.UserContext(), networkOf(x.client))
	if err != nil {
		return err
	}
	x.leave = leave
	x.onRelease(leave)
	defer x.handled()
	x.hold = a.memory.Hold(networkOf(x.client))
	x.onRelease(x.hold.Release)
	if err := x.hold.Take(scrapeMemory); err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(c.UserContext(), http.MethodGet, scrapePath, nil)
	if err != nil {
		return err
	}
	for _, name := range []string{fiber.HeaderAccept, fiber.HeaderAcceptEncoding} {
		r.Header.Set(name, c.Get(name))
	}
	w := &pageAnswer{header: http.Header{}, status: http.StatusOK}
	a.scrape.Metrics.ServeHTTP(w, r)
	w.send(c, x)
	return nil
}

// prove compares an Authorization header with the token, in constant time.
// Errors: fault.Unproven.
func (s Scrape) prove(header string) error {
	scheme, token, _ := strings.Cut(strings.TrimSpace(header), " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return fault.Unprovenf("Authentication is required")
	}
	got, want := sha256.Sum256([]byte(strings.TrimSpace(token))), sha256.Sum256([]byte(s.Token))
	if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
		return fault.Unprovenf("The token is not valid")
	}
	return nil
}
