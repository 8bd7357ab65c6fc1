package httpapi

import (
	"net/http"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/alds-dev/alds/internal/limits/inbound"
)

// refusalDelay is the least time to a refusal for overload. Most programs that
// are refused ask again at once; refusing thousands a second takes from those
// who are served.
const refusalDelay = time.Second

// delayRefusal releases what the request holds and waits until the delay has
// passed since its start. Meanwhile its connection may be closed to make room
// for another.
func (a *API) delayRefusal(c *fiber.Ctx, x *exchange) {
	x.release()
	if conn, ok := c.Context().Conn().(*inbound.Conn); ok {
		conn.SetIdle()
		defer conn.SetBusy()
	}
	a.pause(a.refusalDelay - time.Since(x.began))
}

// overloaded reports whether the request was refused because there are too many.
func (x *exchange) overloaded(err error) bool {
	return x.brokenBy == "" && (x.status == http.StatusTooManyRequests ||
		x.status == http.StatusServiceUnavailable && selfExplaining(err))
}

// refusalLines is how many refusals for overload are logged in a second. There
// are thousands then, and a line costs a fifth of what a refusal does.
const refusalLines = 100

// refusalLimiter limits the log lines of refusals. It is safe for concurrent
// use; the zero value is ready.
type refusalLimiter struct {
	mu       sync.Mutex
	second   int64
	logged   int // in that second
	unlogged int // since the last line
}

// next reports whether a refusal at an instant is logged, and how many before it
// were not.
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
