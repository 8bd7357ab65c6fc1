package httpapi

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/fault"
)

// statusOf is the only place a fault becomes an HTTP status. Spec: interface 7.1.
var statusOf = map[fault.Kind]int{
	fault.Internal:  http.StatusInternalServerError,
	fault.Invalid:   http.StatusBadRequest,
	fault.Unproven:  http.StatusUnauthorized,
	fault.Denied:    http.StatusForbidden,
	fault.NotFound:  http.StatusNotFound,
	fault.Conflict:  http.StatusConflict,
	fault.Transient: http.StatusServiceUnavailable,
}

// retryAfter is what a 503 asks for, in seconds.
const retryAfter = "1"

// methodError is a request whose path does not have its method.
type methodError struct{ allow string }

// Error names what is wrong, for the caller.
func (methodError) Error() string { return "Method Not Allowed" }

// failure is the body of every error. Shape: {"error": "…", "exceptions":
// [{"message": "…", "position": 12}]}. Spec: compat 1.4, 9.3.
type failure struct {
	Error      string      `json:"error"`
	Exceptions []exception `json:"exceptions"`
}

type exception struct {
	Message  string `json:"message"`
	Position *int   `json:"position,omitempty"` // byte offset in the body
}

// fail answers with err. It is also fiber's error handler, for requests that
// never reached a route: a body or header that is too large or malformed.
func (a *API) fail(c *fiber.Ctx, err error) error {
	status, msg := judge(err)
	switch status {
	case http.StatusUnauthorized:
		c.Set(fiber.HeaderWWWAuthenticate, challenge)
	case http.StatusServiceUnavailable:
		c.Set(fiber.HeaderRetryAfter, retryAfter)
	case http.StatusTooManyRequests:
		if s, ok := errors.AsType[*auth.SlowDownError](err); ok {
			c.Set(fiber.HeaderRetryAfter, strconv.Itoa(int(math.Ceil(s.After.Seconds()))))
		}
	case http.StatusMethodNotAllowed:
		if m, ok := errors.AsType[methodError](err); ok {
			c.Set(fiber.HeaderAllow, m.allow)
		}
	}
	body := failure{Error: msg, Exceptions: []exception{{Message: msg}}}
	if at := fault.Place(err); at != fault.NoPlace {
		body.Exceptions[0].Position = &at
	}
	return c.Status(status).JSON(body)
}

// judge returns the status and the message a caller may read.
func judge(err error) (int, string) {
	if m, ok := errors.AsType[methodError](err); ok {
		return http.StatusMethodNotAllowed, m.Error()
	}
	if s, ok := errors.AsType[*auth.SlowDownError](err); ok {
		return http.StatusTooManyRequests, s.Error()
	}
	if errors.Is(err, errTooLarge) {
		return http.StatusRequestEntityTooLarge, errTooLarge.Error()
	}
	if errors.Is(err, errTooSlow) {
		return http.StatusRequestTimeout, errTooSlow.Error()
	}
	if errors.Is(err, errCutOff) {
		return http.StatusBadRequest, errCutOff.Error()
	}
	if f, ok := errors.AsType[*fiber.Error](err); ok {
		return unread(f.Code)
	}
	if fault.KindOf(err) == fault.Internal && errors.Is(err, context.DeadlineExceeded) {
		return http.StatusServiceUnavailable, "the request took too long"
	}
	return statusOf[fault.KindOf(err)], fault.Public(err)
}

// unread is the answer to a request that the HTTP library could not read. What
// the library says of it may show the request itself, credentials included.
func unread(status int) (int, string) {
	switch status {
	case http.StatusRequestEntityTooLarge:
		return status, errTooLarge.Error()
	case http.StatusRequestHeaderFieldsTooLarge:
		return status, "the request line and headers are larger than this server accepts"
	case http.StatusRequestTimeout:
		return status, "the request came too slowly"
	}
	return http.StatusBadRequest, "the request could not be read"
}
