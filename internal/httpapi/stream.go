package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"runtime/debug"

	"github.com/gofiber/fiber/v2"

	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/memory"
)

// piece is a part of a streamed answer.
type piece struct {
	body []byte
	last bool
	err  error // the answer cannot go on; body does not count
}

// errGone ends a stream that nobody takes.
var errGone = errors.New("nobody takes the rest of the answer")

// pieces runs s, which waits inside yield while a piece is being sent.
func pieces(ctx context.Context, s Stream) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		gone := false
		body, err := s(ctx, func(w []byte) ([]byte, error) {
			if gone = gone || !yield(piece{body: w}); gone {
				return nil, errGone
			}
			return w[:0], nil
		})
		if !gone {
			yield(piece{body: body, last: true, err: err})
		}
	}
}

// streamed is the body of an answer that is made while it is sent: the engine
// runs only inside Read, so no more than one piece lies in memory and a client
// that takes nothing costs no work. The read transaction it holds ends with the
// request's time limit, whether the client takes the rest or not.
//
// A body that cannot go on ends the connection without the end of the chunked
// body, so that no client takes a part for the whole.
type streamed struct {
	api    *API
	x      *exchange
	now    piece
	next   func() (piece, bool)
	stop   func()
	sent   int
	closed bool
}

// begin runs s up to its first piece. When that is all, it is the answer like
// any other; else the rest follows while it is sent.
func (a *API) begin(c *fiber.Ctx, x *exchange, s Stream) (body []byte, err error) {
	next, stop := iter.Pull(pieces(c.UserContext(), s))
	going := false
	defer func() {
		if !going {
			stop()
		}
	}()
	first, _ := next()
	if first.err != nil || first.last {
		return first.body, first.err
	}
	if !c.Request().Header.IsHTTP11() { // which knows no chunks
		return gather(x.hold, first, next)
	}
	going = true
	x.stream = &streamed{api: a, x: x, now: first, next: next, stop: stop}
	return nil, nil
}

// gather makes one body of all pieces, and takes the memory for it.
// Errors: those of the engine and of the hold.
func gather(hold *memory.Hold, p piece, next func() (piece, bool)) (body []byte, err error) {
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

// Read gives the next bytes of the answer; the server calls it as the client
// takes them.
func (s *streamed) Read(b []byte) (int, error) {
	for len(s.now.body) == 0 {
		switch {
		case s.now.err != nil:
			return 0, io.ErrUnexpectedEOF
		case s.now.last:
			return 0, io.EOF
		}
		s.now = s.more()
	}
	n := copy(b, s.now.body)
	s.now.body = s.now.body[n:]
	s.sent += n
	return n, nil
}

// more runs the engine up to the next piece.
func (s *streamed) more() (p piece) {
	defer func() {
		if r := recover(); r != nil {
			s.api.m.panics.Inc()
			p = piece{err: fmt.Errorf("panic: %v\n%s", r, debug.Stack())}
		}
	}()
	p, _ = s.next()
	if p.err != nil {
		p.body = nil
	}
	return p
}

// Close ends the work and records the request. The server calls it when the
// answer is sent, or cannot be.
func (s *streamed) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	s.stop()
	s.x.sent = s.sent
	switch {
	case s.x.gone.Load():
		s.x.broken = "client"
	case s.now.err != nil:
		s.x.broken = "server"
		switch {
		case errors.Is(s.now.err, context.DeadlineExceeded):
			s.x.broken = "time"
		case fault.KindOf(s.now.err) == fault.Invalid: // larger than an answer may be
			s.x.broken = "limit"
		}
	case !s.now.last || len(s.now.body) > 0:
		s.x.broken = "client"
	}
	s.x.release()
	s.api.record(s.x, s.now.err)
	return nil
}

// largeBody is the size from which an answer counts as held until it is sent.
const largeBody = 64 << 10

// sending is the body of a large answer that is there whole. What the request
// holds is given back when its client has taken it.
type sending struct {
	bytes.Reader
	api    *API
	x      *exchange
	closed bool
}

func (a *API) sending(x *exchange) *sending {
	s := &sending{api: a, x: x}
	s.Reset(x.answer)
	return s
}

// Close records the request. The server calls it when the answer is sent, or
// cannot be.
func (s *sending) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	if s.Len() > 0 {
		s.x.broken = "client"
	}
	s.x.sent = int(s.Size()) - s.Len()
	s.x.release()
	s.api.record(s.x, nil)
	return nil
}
