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

// scrapePath is where monitoring reads metrics, beside the instance.
const scrapePath = "/metrics"

// scrapeChallenge is sent with a 401 of that path: no member's credentials count there.
const scrapeChallenge = `Bearer realm="metrics"`

// scrapeMemory is how many bytes an answer with metrics may need.
const scrapeMemory = 1 << 20

// Scrape is what monitoring reads by the address of the interface, where it reaches
// no other.
type Scrape struct {
	Token   string       // that it has to send; empty: there is nothing to read
	Metrics http.Handler // answers
}

// scrapeBounds are the bounds of requests that have the token: few, since one costs as
// much as it has series.
func scrapeBounds() admission.Bounds {
	return admission.Bounds{Running: 2, PerKey: 1, Line: 4, Waiting: 8, Wait: maxWait}
}

// registerScrape gives the path of metrics to the router.
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

// serveScrape answers who has the token. No body is read, and who has none makes
// nothing be collected.
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

// prove compares an Authorization header with the token. How long that takes tells
// nothing of it. Errors: fault.Unproven.
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
