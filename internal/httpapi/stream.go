package httpapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"math"
	"net"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/limits/inbound"
	"github.com/alds-dev/alds/internal/limits/memory"
)

// chunk is a part of a streamed answer.
type chunk struct {
	body []byte
	last bool
	err  error // if set, the answer ends here and body is not valid
}

// errStopped ends a stream whose remaining chunks are not read.
var errStopped = errors.New("the answer is not read to its end")

// chunks runs s and yields its chunks. s is suspended while a chunk is sent.
func chunks(ctx context.Context, s Stream) iter.Seq[chunk] {
	return func(yield func(chunk) bool) {
		stopped := false
		body, err := s(ctx, func(w []byte) ([]byte, error) {
			if stopped = stopped || !yield(chunk{body: w}); stopped {
				return nil, errStopped
			}
			return w[:0], nil
		})
		if !stopped {
			yield(chunk{body: body, last: true, err: err})
		}
	}
}

// streamedBody is the body of an answer that is made while it is sent. The engine runs only
// inside Read, so that only one chunk is in memory and a client that reads nothing causes no
// work. The engine's read transaction ends at the request's time limit at the latest.
//
// After an error the connection closes without the end of the chunked body, so that the client
// notices that the answer is incomplete.
type streamedBody struct {
	api     *API
	x       *exchange
	current chunk
	next    func() (chunk, bool)
	stop    func()
	conn    net.Conn
	until   time.Time // time limit of the request; zero after it was set as the write deadline of conn
	sent    int       // bytes
	closed  bool
}

// startStream runs s up to its first chunk. If that is the whole answer, it returns the body.
// Otherwise it sets x.stream.
func (a *API) startStream(c *fiber.Ctx, x *exchange, s Stream) (body []byte, err error) {
	next, stop := iter.Pull(chunks(c.UserContext(), s))
	defer func() {
		if x.stream == nil {
			stop()
		}
	}()
	first, _ := next()
	if first.err != nil || first.last {
		return first.body, first.err
	}
	if !c.Request().Header.IsHTTP11() { // HTTP/1.0 has no chunked bodies
		return collect(x.hold, first, next)
	}
	x.stream = &streamedBody{api: a, x: x, current: first, next: next, stop: stop}
	if conn, ok := c.Context().Conn().(*inbound.Conn); ok { // a request of a page has no connection
		x.stream.conn = conn
		x.stream.until, _ = c.UserContext().Deadline()
	}
	return nil, nil
}

// collect joins the chunk p and all chunks after it, in memory that it reserves in the hold.
// Errors: errors of the engine and of the hold.
func collect(hold *memory.Hold, p chunk, next func() (chunk, bool)) (body []byte, err error) {
	for {
		for cap(body)-len(body) < len(p.body) {
			if body, err = grow(body, math.MaxInt, hold); err != nil {
				return nil, err
			}
		}
		if body = append(body, p.body...); p.last {
			return body, nil
		}
		if p, _ = next(); p.err != nil {
			return nil, p.err
		}
	}
}

// Read returns the next bytes of the answer. The server calls it as fast as the
// client reads.
func (s *streamedBody) Read(b []byte) (int, error) {
	if !s.until.IsZero() { // a client that has not read the answer by then is cut off
		_ = s.conn.SetWriteDeadline(s.until)
		s.until = time.Time{}
	}
	for len(s.current.body) == 0 {
		switch {
		case s.current.err != nil:
			return 0, io.ErrUnexpectedEOF
		case s.current.last:
			return 0, io.EOF
		}
		s.current = s.nextChunk()
	}
	n := copy(b, s.current.body)
	s.current.body = s.current.body[n:]
	s.sent += n
	return n, nil
}

// nextChunk runs the engine up to its next chunk.
func (s *streamedBody) nextChunk() (p chunk) {
	defer func() {
		if r := recover(); r != nil {
			p = chunk{err: s.api.countPanic(r)}
		}
	}()
	if p, _ = s.next(); p.err != nil {
		p.body, p.err = nil, s.x.cause(p.err)
	}
	return p
}

// Close frees the resources of the exchange, and records the exchange in the log and the metrics.
// The server calls it when the answer has been sent or cannot be sent.
func (s *streamedBody) Close() error { return s.api.closed(s.x, s.end) }

func (s *streamedBody) end() error {
	if s.closed {
		return nil
	}
	s.closed = true
	s.stop()
	s.x.sent, s.x.brokenBy = s.sent, s.x.endedBy(s.current.err, s.current.last && len(s.current.body) == 0)
	s.x.release()
	s.api.record(s.x, s.current.err)
	return nil
}

// endedBy returns the value of brokenBy for an answer. err is the error of the engine, and
// whole reports whether the last byte was sent.
func (x *exchange) endedBy(err error, whole bool) string {
	switch {
	case x.clientGone.Load():
		return "client"
	case errors.Is(err, context.DeadlineExceeded):
		return "time"
	case fault.KindOf(err) == fault.Unproven, fault.KindOf(err) == fault.Denied: // the caller lost rights meanwhile
		return "rights"
	case err != nil && fault.KindOf(err) == fault.Invalid: // the answer is too large
		return "limit"
	case err != nil:
		return "server"
	case !whole:
		return "client"
	}
	return ""
}

// largeAnswer is the size in bytes from which the memory of an answer stays reserved until the
// answer is sent.
const largeAnswer = 64 << 10

// largeBody is the body of a large answer that is complete before it is sent. The resources of the
// exchange are freed when the client has read the answer.
type largeBody struct {
	bytes.Reader
	api    *API
	x      *exchange
	closed bool
}

func (a *API) newLargeBody(x *exchange) *largeBody {
	x.unwatch() // the answer is complete; a later loss of rights does not stop it
	s := &largeBody{api: a, x: x}
	s.Reset(x.answer)
	return s
}

// Close frees the resources of the exchange, and records the exchange in the log and the metrics.
// The server calls it when the answer has been sent or cannot be sent.
func (s *largeBody) Close() error { return s.api.closed(s.x, s.end) }

func (s *largeBody) end() error {
	if s.closed {
		return nil
	}
	s.closed = true
	if s.Len() > 0 {
		s.x.brokenBy = "client"
	}
	s.x.sent = int(s.Size()) - s.Len()
	s.x.release()
	s.api.record(s.x, nil)
	return nil
}
