package httpapi

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/inbound"
	"github.com/alds-dev/alds/internal/memory"
)

// How fast a body must come: bodyRate bytes a second, after bodyPatience. Who
// sends slower holds memory that others need.
const (
	bodyPatience = 10 * time.Second
	bodyRate     = 32 << 10
)

// prefetched is how much of a body the HTTP library reads before the handler
// runs: a shorter one is all there.
const prefetched = 8 << 10

// firstBuffer is the size of the first buffer of a body whose length nobody
// knows, or that is only announced.
const firstBuffer = 16 << 10

var (
	errTooLarge = errors.New("the body is larger than this server accepts")
	errTooSlow  = errors.New("the body came too slowly")
	errCutOff   = errors.New("the body could not be read")
)

// requestBody is the body of a request while it comes in.
type requestBody struct {
	stream io.Reader // nil: there is none
	conn   net.Conn
	length int // announced; -1: unknown until its end
	whole  bool

	patience time.Duration
}

// requestBody returns the body of a request, of which nothing is read yet.
func (a *API) requestBody(c *fiber.Ctx) *requestBody {
	in := &requestBody{
		stream: c.Context().RequestBodyStream(), conn: c.Context().Conn(), length: c.Request().Header.ContentLength(),
		patience: a.patience,
	}
	in.whole = in.stream == nil
	return in
}

// read reads the body, at most limit bytes, taking what it needs from hold.
// Errors: errTooLarge, errTooSlow, errCutOff; those of the hold.
func (in *requestBody) read(limit int, hold *memory.Hold) ([]byte, error) {
	if in.stream == nil {
		return nil, nil
	}
	if in.length > limit {
		return nil, errTooLarge
	}
	b, err := fill(&paced{in: in, began: time.Now()}, in.length, limit, hold)
	if err == nil && in.length >= 0 && len(b) != in.length {
		err = errCutOff
	}
	in.whole = err == nil
	return b, err
}

// skip gets rid of a body that nobody reads. What has not come yet is not waited
// for: the connection ends after the answer.
func (in *requestBody) skip(c *fiber.Ctx) {
	if in.whole {
		return
	}
	if in.length >= 0 && in.length <= prefetched {
		if _, err := io.Copy(io.Discard, in.stream); err == nil {
			in.whole = true
			return
		}
	}
	closeAfter(c)
}

// closeAfter ends the connection after the answer, which a client that is still
// sending can read.
func closeAfter(c *fiber.Ctx) {
	c.Context().SetConnectionClose()
	if conn, ok := c.Context().Conn().(*inbound.Conn); ok {
		conn.SetLinger()
	}
}

// paced is a body that must not come too slowly.
type paced struct {
	in    *requestBody
	began time.Time
	n     int
}

// Read reads what has come. Errors: also errTooSlow, errCutOff.
func (p *paced) Read(b []byte) (int, error) {
	_ = p.in.conn.SetReadDeadline(p.began.Add(p.in.patience + time.Duration(p.n)*time.Second/bodyRate))
	n, err := p.in.stream.Read(b)
	p.n += n
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return n, errTooSlow
	}
	return n, errCutOff
}

// fill reads all of r into a buffer that grows as bytes come, so that bytes that
// were only announced cost nothing. length is what is expected, -1 for unknown.
// Errors: errTooLarge beyond limit; those of r and of the hold.
func fill(r io.Reader, length, limit int, hold *memory.Hold) ([]byte, error) {
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

// grow doubles a buffer, up to most bytes. While it is copied both are needed.
func grow(b []byte, most int, hold *memory.Hold) ([]byte, error) {
	size := max(min(2*cap(b), most), cap(b)+1)
	if err := hold.Take(int64(size)); err != nil {
		return nil, err
	}
	bigger := append(make([]byte, 0, size), b...)
	hold.Give(int64(cap(b)))
	return bigger, nil
}

// unpack undoes gzip. Errors: fault.Invalid; errTooLarge; those of the hold.
func unpack(packed []byte, limit int, hold *memory.Hold) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, notGzip()
	}
	b, err := fill(z, -1, limit, hold)
	if err == nil || errors.Is(err, errTooLarge) || fault.KindOf(err) != fault.Internal {
		return b, err
	}
	return nil, notGzip()
}

func notGzip() error { return fault.Invalidf(fault.NoPlace, "The body is not gzip") }
