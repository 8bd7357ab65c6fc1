package httpapi

import (
	"net/http"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/alds-dev/alds/internal/inbound"
)

// refusalPause is how long a request takes at least that is refused because there
// are too many. Most programs that are refused ask again at once;
// refusing thousands a second takes from those who are served.
const refusalPause = time.Second

// holdBack ends the work of a request that is refused and waits with the answer,
// unless the request has waited long enough. Meanwhile it holds nothing, and its
// connection may be closed to make room for another.
func (a *API) holdBack(c *fiber.Ctx, x *exchange) {
	x.release()
	if conn, ok := c.Context().Conn().(*inbound.Conn); ok {
		conn.SetIdle()
		defer conn.SetBusy()
	}
	time.Sleep(a.pause - time.Since(x.began))
}

// refusalLines is how many refusals for too much load are logged in a second.
// There are thousands then, and each line costs a fifth of what refusing does.
const refusalLines = 100

// refusals bounds the lines that tell of refusals. It is safe for concurrent
// use; the zero value is ready.
type refusals struct {
	mu       sync.Mutex
	second   int64
	told     int // in that second
	unlogged int // since the last line
}

// next reports whether a refusal at an instant is logged, and how many before it
// were not.
func (r *refusals) next(now time.Time) (unlogged int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := now.Unix(); s != r.second {
		r.second, r.told = s, 0
	}
	if r.told == refusalLines {
		r.unlogged++
		return 0, false
	}
	r.told++
	unlogged, r.unlogged = r.unlogged, 0
	return unlogged, true
}

// forLoad reports whether a request was refused because there are too many.
func forLoad(status int, err error) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable && explained(err)
}
