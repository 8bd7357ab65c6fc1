package httpapi

import (
	"net/http"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/alds-dev/alds/internal/limits/inbound"
)

// refusalDelay is the minimum time from a request to its refusal for overload. Most refused
// clients try again at once, and thousands of refusals a second would slow down the requests
// that run.
const refusalDelay = time.Second

// delayRefusal releases the resources of a request and waits until refusalDelay has passed since
// the start of the request. During this time the connection may be closed to make room for another
// connection.
func (a *API) delayRefusal(c *fiber.Ctx, x *exchange) {
	x.release()
	if conn, ok := c.Context().Conn().(*inbound.Conn); ok {
		conn.SetIdle()
		defer conn.SetBusy()
	}
	a.pause(a.refusalDelay - time.Since(x.began))
}

// overloaded reports whether the request was refused because there are too many requests.
func (x *exchange) overloaded(err error) bool {
	return x.brokenBy == "" && (x.status == http.StatusTooManyRequests ||
		x.status == http.StatusServiceUnavailable && selfExplaining(err))
}

// refusalLines is the maximum number of refusals for overload that are logged in a second. Under
// overload there are thousands of refusals a second, and a log line takes a fifth of the time of a
// refusal.
const refusalLines = 100

// refusalLimiter limits the log lines of refusals. It is safe for concurrent
// use; the zero value is ready.
type refusalLimiter struct {
	mu       sync.Mutex
	second   int64 // Unix time of the latest refusal
	logged   int   // lines in this second
	unlogged int   // refusals without a line since the last line
}

// next reports whether a refusal at the time now is logged. unlogged is the number of refusals
// since the last line that were not logged.
func (r *refusalLimiter) next(now time.Time) (unlogged int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := now.Unix(); s != r.second {
		r.second, r.logged = s, 0
	}
	if r.logged == refusalLines {
		r.unlogged++
		return 0, false
	}
	r.logged++
	unlogged, r.unlogged = r.unlogged, 0
	return unlogged, true
}
