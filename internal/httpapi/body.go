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

// After bodyGrace, a body must arrive at bodyRate bytes a second or more. A slower client would
// hold memory that other clients need.
const (
	bodyGrace = 10 * time.Second
	bodyRate  = 32 << 10
)

// prefetched is how many bytes of a body the HTTP library reads before the
// handler runs.
const prefetched = 8 << 10

// firstBuffer is the size of the first buffer for a body, in bytes. The length that a client
// announces is not trusted.
const firstBuffer = 16 << 10

var (
	errTooLarge = errors.New("the body is larger than this server accepts")
	errTooSlow  = errors.New("the body came too slowly")
	errCutOff   = errors.New("the body could not be read")

	// errContinue ends a request whose client waits for 100 Continue. The server then sends
	// 100 Continue and serves the request again.
	errContinue = errors.New("the body is requested with 100 Continue")
)

// requestBody is the body of a request while it arrives.
type requestBody struct {
	stream io.Reader // nil: no body
	conn   net.Conn
	length int  // announced bytes; -1: chunked, so unknown until the end
	done   bool // nothing is left to read
	waits  bool // the client sends the body only after 100 Continue
	grace  time.Duration

	received int // bytes that an arrivingBody has returned
}

// requestBody returns the body of a request. It reads nothing of the body.
func (a *API) requestBody(c *fiber.Ctx) *requestBody {
	b := &requestBody{
		stream: c.Context().RequestBodyStream(), conn: c.Context().Conn(), length: c.Request().Header.ContentLength(),
		grace: a.bodyGrace,
	}
	b.waits = c.Locals(waitingKey{}) != nil && b.length != 0 && b.length >= -1
	b.done = b.stream == nil && !b.waits
	return b
}

// read reads the body, at most limit bytes, into memory that it reserves in the hold.
// Errors: errTooLarge, errTooSlow, errCutOff; errContinue; errors of the hold.
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

// arriving returns a reader of the body that returns bytes as they arrive, until ctx ends.
// Errors of reads: errTooSlow, errCutOff, the error of ctx.
func (b *requestBody) arriving(ctx context.Context) io.Reader {
	if b.stream == nil {
		return strings.NewReader("")
	}
	end, _ := ctx.Deadline()
	return &arrivingBody{ctx: ctx, r: timedReader{body: b, began: time.Now(), end: end}}
}

// arrivingBody is the reader that arriving returns.
type arrivingBody struct {
	ctx context.Context
	r   timedReader
}

// Read returns the bytes that have arrived.
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

// discard drops the unread rest of the body. If the rest has not arrived yet, the answer is sent at
// once. The connection stays open until the client has sent the rest, because existing clients read
// the answer only after that. The server closes the connection earlier if the rest is larger than
// any allowed body or arrives too slowly.
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

// shortLinger is how long the server still reads from a connection after its answer. It is used if
// the request was malformed, or if no more connections may be held.
const shortLinger = time.Second

// closeAfter closes the connection after the answer. Before that, the server reads what the client
// still sends, so that the client can read the answer.
func closeAfter(c *fiber.Ctx, rest inbound.Rest) {
	c.Context().SetConnectionClose()
	if conn, ok := c.Context().Conn().(*inbound.Conn); ok {
		conn.SetLinger(rest)
	}
}

// timedReader reads a body that must arrive at bodyRate.
type timedReader struct {
	body  *requestBody
	began time.Time // start of the body, moved forward by the time between two reads
	ended time.Time // end of the last read
	end   time.Time // time limit of the request; zero: none
	n     int       // bytes that were read
}

// Read returns the bytes that have arrived. Errors: io.EOF, errTooSlow, errCutOff.
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

// brokeOff reports whether the client closed the connection before the last chunk of a chunked
// body. In this case the HTTP library returns io.EOF, as after a complete body.
func (b *requestBody) brokeOff() bool {
	conn, ok := b.conn.(*inbound.Conn)
	return b.length < 0 && ok && conn.Ended()
}

// readAll reads r into a buffer that grows as bytes arrive, so that the announced length alone
// reserves no memory. length is the announced length, or -1 if it is unknown.
// Errors: errTooLarge above limit bytes; errors of r and of the hold.
func readAll(r io.Reader, length, limit int, hold *memory.Hold) ([]byte, error) {
	most := limit + 1
	if length >= 0 {
		most = length + 1 // one more, so that a full buffer does not grow before io.EOF
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

// grow doubles a buffer, up to most bytes. During the copy, memory is reserved for the old and
// the new buffer.
func grow(b []byte, most int, hold *memory.Hold) ([]byte, error) {
	size := max(min(2*cap(b), most), cap(b)+1)
	if err := hold.Take(int64(size)); err != nil {
		return nil, err
	}
	bigger := memory.Append(make([]byte, 0, size), b)
	hold.Give(int64(cap(b)))
	return bigger, nil
}

// gunzip decompresses a body to at most limit bytes.
// Errors: fault.Invalid; errTooLarge; errors of the hold.
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
