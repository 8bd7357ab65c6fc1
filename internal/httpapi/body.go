package httpapi

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/limits/inbound"
	"github.com/alds-dev/alds/internal/limits/memory"
)

// How fast a body must arrive: bodyRate bytes a second after bodyGrace. A slower
// client holds memory that others need.
const (
	bodyGrace = 10 * time.Second
	bodyRate  = 32 << 10
)

// prefetched is how many bytes of a body the HTTP library reads before the
// handler runs.
const prefetched = 8 << 10

// firstBuffer is the size of the first buffer for a body, whose announced length
// is not trusted.
const firstBuffer = 16 << 10

var (
	errTooLarge = errors.New("the body is larger than this server accepts")
	errTooSlow  = errors.New("the body came too slowly")
	errCutOff   = errors.New("the body could not be read")

	// errContinue ends a request whose client waits to be asked for its body: it is.
	errContinue = errors.New("the body is asked for")
)

// requestBody is the body of a request while it arrives.
type requestBody struct {
	stream io.Reader // nil: there is none
	conn   net.Conn
	length int // announced; -1: unknown until its end
	done   bool
	waits  bool // the client sends it when it is asked to
	grace  time.Duration

	received int // bytes, of a body that is read while it arrives
}

// requestBody returns the body of a request before any of it is read.
func (a *API) requestBody(c *fiber.Ctx) *requestBody {
	b := &requestBody{
		stream: c.Context().RequestBodyStream(), conn: c.Context().Conn(), length: c.Request().Header.ContentLength(),
		grace: a.bodyGrace,
	}
	b.waits = c.Locals(waitingKey{}) != nil && b.length != 0 && b.length >= -1
	b.done = b.stream == nil && !b.waits
	return b
}

// read reads the body, at most limit bytes, into memory of the hold.
// Errors: errTooLarge, errTooSlow, errCutOff; errContinue; those of the hold.
func (b *requestBody) read(limit int, hold *memory.Hold) ([]byte, error) {
	switch {
	case b.length > limit && (b.stream != nil || b.waits):
		return nil, errTooLarge
	case b.waits:
		return nil, errContinue
	case b.stream == nil:
		return nil, nil
	}
	all, err := readAll(&timedReader{body: b, began: time.Now()}, b.length, limit, hold)
	if err == nil && b.length >= 0 && len(all) != b.length {
		err = errCutOff
	}
	b.done = err == nil
	return all, err
}

// arriving returns the body for who reads it while it arrives. A read ends with ctx.
// Errors of reads: errTooSlow, errCutOff, that of ctx.
func (b *requestBody) arriving(ctx context.Context) io.Reader {
	if b.stream == nil {
		return strings.NewReader("")
	}
	end, _ := ctx.Deadline()
	return &arrivingBody{ctx: ctx, r: timedReader{body: b, began: time.Now(), end: end}}
}

// arrivingBody is a body that is read while it arrives.
type arrivingBody struct {
	ctx context.Context
	r   timedReader
}

// Read reads what has arrived.
func (a *arrivingBody) Read(p []byte) (int, error) {
	if err := a.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := a.r.Read(p)
	b := a.r.body
	b.received = a.r.n
	if errors.Is(err, io.EOF) {
		if b.length >= 0 && a.r.n != b.length {
			return n, errCutOff
		}
		b.done = true
	}
	return n, err
}

// discard drops what is left of the body. When that has not arrived yet, the answer is
// sent, and the connection closes when the client has sent the rest: existing clients read
// no answer before. Where it is larger than any body may be, or comes too slowly, the
// connection closes sooner.
func (a *API) discard(c *fiber.Ctx, b *requestBody) {
	if b.done {
		return
	}
	if b.length >= 0 && b.length <= prefetched && !b.waits {
		if _, err := io.Copy(io.Discard, b.stream); err == nil {
			b.done = true
			return
		}
	}
	closeAfter(c, inbound.Rest{Bytes: a.maxRest, Grace: b.grace, Rate: bodyRate, Short: shortLinger})
}

// shortLinger is how long a client is heard that sends what no request is, or for which
// no connection may be held.
const shortLinger = time.Second

// closeAfter closes the connection after the answer, such that a client that is
// still sending can read it.
func closeAfter(c *fiber.Ctx, rest inbound.Rest) {
	c.Context().SetConnectionClose()
	if conn, ok := c.Context().Conn().(*inbound.Conn); ok {
		conn.SetLinger(rest)
	}
}

// timedReader reads a body that must arrive at bodyRate.
type timedReader struct {
	body  *requestBody
	began time.Time // later by the time that nobody waited for the client
	ended time.Time // of the last read
	end   time.Time // of the request; zero: none
	n     int
}

// Read reads what has arrived. Errors: also errTooSlow, errCutOff.
func (r *timedReader) Read(b []byte) (int, error) {
	if !r.ended.IsZero() {
		r.began = r.began.Add(time.Since(r.ended))
	}
	deadline := r.began.Add(r.body.grace + time.Duration(r.n)*time.Second/bodyRate)
	if !r.end.IsZero() && r.end.Before(deadline) {
		deadline = r.end
	}
	_ = r.body.conn.SetReadDeadline(deadline)
	n, err := r.body.stream.Read(b)
	r.n, r.ended = r.n+n, time.Now()
	if errors.Is(err, io.EOF) && r.body.brokeOff() {
		return n, errCutOff
	}
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return n, errTooSlow
	}
	return n, errCutOff
}

// brokeOff reports whether the client closed the connection before the last chunk of
// a chunked body, which the HTTP library takes for its end.
func (b *requestBody) brokeOff() bool {
	conn, ok := b.conn.(*inbound.Conn)
	return b.length < 0 && ok && conn.Ended()
}

// readAll reads r into a buffer that grows as bytes arrive, so that an announced
// length alone costs nothing. length is the expected one, -1 if unknown.
// Errors: errTooLarge beyond limit; those of r and of the hold.
func readAll(r io.Reader, length, limit int, hold *memory.Hold) ([]byte, error) {
	most := limit + 1
	if length >= 0 {
		most = length + 1 // room to see its end
	}
	size := min(firstBuffer, most)
	if err := hold.Take(int64(size)); err != nil {
		return nil, err
	}
	b := make([]byte, 0, size)
	for {
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case len(b) > limit:
			return nil, errTooLarge
		case errors.Is(err, io.EOF):
			return b, nil
		case err != nil:
			return nil, err
		case len(b) == cap(b):
			if b, err = grow(b, most, hold); err != nil {
				return nil, err
			}
		}
	}
}

// grow doubles a buffer, up to most bytes. Both count while one is copied.
func grow(b []byte, most int, hold *memory.Hold) ([]byte, error) {
	size := max(min(2*cap(b), most), cap(b)+1)
	if err := hold.Take(int64(size)); err != nil {
		return nil, err
	}
	bigger := memory.Append(make([]byte, 0, size), b)
	hold.Give(int64(cap(b)))
	return bigger, nil
}

// gunzip decompresses a body. Errors: fault.Invalid; errTooLarge; those of the hold.
func gunzip(packed []byte, limit int, hold *memory.Hold) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, notGzip()
	}
	b, err := readAll(z, -1, limit, hold)
	if err == nil || errors.Is(err, errTooLarge) || fault.KindOf(err) != fault.Internal {
		return b, err
	}
	return nil, notGzip()
}

func notGzip() error { return fault.Invalidf(fault.NoPlace, "The body is not gzip") }
