package httpapi

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/value"
)

// statuses maps each kind of fault to an HTTP status. No other code does this.
// Spec: interface 7.1.
var statuses = map[fault.Kind]int{
	fault.Internal:  http.StatusInternalServerError,
	fault.Invalid:   http.StatusBadRequest,
	fault.Unproven:  http.StatusUnauthorized,
	fault.Denied:    http.StatusForbidden,
	fault.NotFound:  http.StatusNotFound,
	fault.Conflict:  http.StatusConflict,
	fault.Transient: http.StatusServiceUnavailable,
}

// retryAfter is the Retry-After of a 503, in seconds.
const retryAfter = "1"

// methodError reports a method that the path of the request does not allow. allow is the value
// of the header Allow.
type methodError struct{ allow string }

// Error returns the message for the client.
func (methodError) Error() string { return "Method Not Allowed" }

// rangeError reports that the content has no byte of the requested range. size is the size of the
// content in bytes.
type rangeError struct{ size int64 }

// Error returns the message for the client.
func (rangeError) Error() string { return "The content has no byte of this range" }

// failure is the body of every error. For its XML form see the method xml.
// Shape: {"error": "…", "exceptions": [{"message": "…", "position": 12}]}.
// Spec: interface 7.1.1, 7.1.2.
type failure struct {
	Error      string      `json:"error"`
	Exceptions []exception `json:"exceptions"`
}

type exception struct {
	Message  string `json:"message"`
	Position *int   `json:"position,omitempty"` // zero-based byte offset in the body
}

// fail answers with the status and the message of err.
func (a *API) fail(c *fiber.Ctx, err error) error {
	status, msg := statusOf(err)
	switch status {
	case http.StatusUnauthorized:
		c.Set(fiber.HeaderWWWAuthenticate, cmp.Or(exchangeOf(c).challenge, challenge))
	case http.StatusServiceUnavailable:
		c.Set(fiber.HeaderRetryAfter, retryAfter)
	case http.StatusTooManyRequests:
		if s, ok := errors.AsType[*auth.SlowDownError](err); ok {
			c.Set(fiber.HeaderRetryAfter, strconv.Itoa(int(math.Ceil(s.After.Seconds()))))
		}
	case http.StatusRequestedRangeNotSatisfiable:
		if r, ok := errors.AsType[rangeError](err); ok {
			c.Set(fiber.HeaderContentRange, "bytes */"+strconv.FormatInt(r.size, 10))
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
	c.Status(status)
	if a.formatOf(c) == document.JSON {
		return c.JSON(body)
	}
	c.Set(fiber.HeaderContentType, mimeXML)
	return c.Send(body.xml(status, exchangeOf(c).path))
}

// xml returns the failure in the form that existing clients read:
//
//	<Error href="/alds/rest-1.v1/Data/Story/1"><Message>Not Found</Message>
//	  <Exception class="NotFound"><Message>Not Found</Message></Exception></Error>
func (f failure) xml(status int, path string) []byte {
	w := append([]byte(value.XMLDeclaration), `<Error href="`...)
	w = append(value.AppendXMLAttr(w, path), `"><Message>`...)
	w = append(value.AppendXML(w, f.Error), `</Message>`...)
	for _, e := range f.Exceptions {
		w = append(w, `<Exception class="`+strings.ReplaceAll(http.StatusText(status), " ", "")+`"`...)
		if e.Position != nil {
			w = append(strconv.AppendInt(append(w, ` position="`...), int64(*e.Position), 10), '"')
		}
		w = append(value.AppendXML(append(w, `><Message>`...), e.Message), `</Message></Exception>`...)
	}
	return append(w, `</Error>`...)
}

// statusOf returns the status of a failure and the message that a client may read.
func statusOf(err error) (int, string) {
	if m, ok := errors.AsType[methodError](err); ok {
		return http.StatusMethodNotAllowed, m.Error()
	}
	if s, ok := errors.AsType[*auth.SlowDownError](err); ok {
		return http.StatusTooManyRequests, s.Error()
	}
	if errors.Is(err, errTooLarge) {
		return http.StatusRequestEntityTooLarge, errTooLarge.Error()
	}
	if r, ok := errors.AsType[rangeError](err); ok {
		return http.StatusRequestedRangeNotSatisfiable, r.Error()
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
	return statuses[fault.KindOf(err)], fault.Public(err)
}

// unread returns the status and message for a request that the HTTP library could not read.
// The message of the library is not sent: it may contain parts of the request, including
// credentials.
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
