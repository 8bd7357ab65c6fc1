package httpapi

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/blob"
	"github.com/alds-dev/alds/internal/write/attachment"
	"github.com/alds-dev/alds/internal/write/rest"
)

// Attachments finds assets that have a content, and stores and reads the bytes of the content.
// An asset that the member may not see is a fault.NotFound.
type Attachments interface {
	Find(ctx context.Context, who auth.Actor, types []string, id string) (attachment.File, error)
	ToChange(ctx context.Context, who auth.Actor, types []string, id string) (attachment.File, error)
	Limit() int64
	UploadMemory(known bool) int64
	Upload(ctx context.Context, r io.Reader, size int64) (blob.Ref, error)
	Open(ctx context.Context, ref blob.Ref, from, n int64) (io.ReadCloser, error)
}

// upload serves POST attachment.img/<id> and POST embedded.img/<id>. The body is the content
// of an asset of one of the types. The content is stored while it arrives. After that the
// request waits for a slot and writes the asset. Spec: interface 4.13.
func upload(types ...string) handler {
	return func(a *API, ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
		moment, err := ifMoment(r.ifMatch)
		if err != nil {
			return nil, err
		}
		f, err := r.engines.Attachments.ToChange(ctx, who, types, r.param("id"))
		if err != nil {
			return nil, err
		}
		r.asset = f.OID
		ref, err := r.receive(ctx)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, a.timeout) // the time limit counts from the end of the body
		defer cancel()
		if err := r.admit(ctx); err != nil {
			return nil, err
		}
		return r.engines.Writes.Write(ctx, who, rest.Write{
			Form: r.form(a.base(Route{Path: "rest-1.v1/Data"})), Type: f.OID.Type, ID: strconv.FormatInt(f.OID.ID, 10),
			Comment: unquoted(r.params["comment"]), IfMoment: moment, Content: &ref,
		})
	}
}

// receive stores the decompressed body of an upload.
// Errors: errTooLarge, errTooSlow, errCutOff; errContinue; fault.Invalid; fault.Transient.
func (r *request) receive(ctx context.Context) (blob.Ref, error) {
	store := r.engines.Attachments
	size := int64(r.incoming.length)
	if size > store.Limit() {
		return blob.Ref{}, errTooLarge
	}
	if r.incoming.waits {
		return blob.Ref{}, errContinue
	}
	body := r.incoming.arriving(ctx)
	if r.incoming.stream == nil {
		size = 0
	}
	switch r.encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(body)
		if err != nil {
			return blob.Ref{}, unpacked(err)
		}
		body, size = unpacking{z}, -1
	default:
		return blob.Ref{}, fault.Invalidf(fault.NoPlace, "Content-Encoding %q is not supported", r.encoding)
	}
	if err := r.hold.Take(store.UploadMemory(size >= 0)); err != nil {
		return blob.Ref{}, err
	}
	ref, err := store.Upload(ctx, body, size)
	if errors.Is(err, blob.ErrTooLarge) {
		err = errTooLarge
	}
	return ref, err
}

// unpacking decompresses a body while it arrives.
type unpacking struct{ z *gzip.Reader }

// Read returns decompressed bytes. Errors: errors of the body; fault.Invalid.
func (u unpacking) Read(b []byte) (int, error) {
	n, err := u.z.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = unpacked(err)
	}
	return n, err
}

// unpacked returns the error to report after a decompression ended with err. It returns err if the
// body did not arrive completely, and otherwise the error for a body that is not gzip.
func unpacked(err error) error {
	for _, its := range []error{errTooSlow, errCutOff, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, its) {
			return err
		}
	}
	return notGzip()
}

// download serves GET and HEAD of attachment.img/<id> and embedded.img/<id>. Members can upload
// any file. So the headers forbid scripts in a file, and a browser displays only the types in
// shown.
// Spec: interface 4.13.
func download(types ...string) handler {
	return func(_ *API, ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
		f, err := r.engines.Attachments.Find(ctx, who, types, r.param("id"))
		if err != nil {
			return nil, err
		}
		r.asset = f.OID
		r.contentType = mediaType(f.ContentType)
		disposition := disposition(r.contentType, f.Name)
		tag := tagOf(f.Content, r.contentType, disposition)
		r.set(fiber.HeaderContentDisposition, disposition)
		r.set(fiber.HeaderContentSecurityPolicy, "default-src 'none'; style-src 'unsafe-inline'; sandbox")
		r.set("Cross-Origin-Resource-Policy", "same-site")
		r.set(fiber.HeaderAcceptRanges, "bytes")
		r.set(fiber.HeaderETag, tag)
		r.set(fiber.HeaderCacheControl, "private, no-cache")
		if r.ifNoneMatch != "" && isKnown(r.ifNoneMatch, tag[1:len(tag)-1]) {
			r.status = http.StatusNotModified
			return nil, nil
		}
		return nil, r.send(ctx, f.Content, tag)
	}
}

// send answers with a content, or with the range that the client asks for.
func (r *request) send(ctx context.Context, ref blob.Ref, tag string) error {
	s := span{n: ref.Size}
	if !r.head && (r.ifRange == "" || r.ifRange == tag) {
		var ok bool
		if s, ok = rangeOf(r.span, ref.Size); !ok {
			return rangeError{ref.Size}
		}
	}
	if s.part {
		r.status = http.StatusPartialContent
		r.set(fiber.HeaderContentRange, fmt.Sprintf("bytes %d-%d/%d", s.from, s.from+s.n-1, ref.Size))
	}
	if r.head || s.n == 0 {
		r.set(fiber.HeaderContentLength, strconv.FormatInt(s.n, 10))
		return nil
	}
	if err := r.hold.Take(blob.ReadMemory); err != nil {
		return err
	}
	src, err := r.engines.Attachments.Open(ctx, ref, s.from, s.n)
	if err == nil {
		r.file = &file{src: src, n: s.n}
	}
	return err
}

// file is a content, or a range of it, that the answer sends.
type file struct {
	src io.ReadCloser
	n   int64 // bytes
}

// of returns the body that sends the file in an exchange, or nil if f is nil.
func (f *file) of(a *API, x *exchange) *fileBody {
	if f == nil {
		return nil
	}
	return &fileBody{api: a, x: x, src: f.src, left: f.n}
}

// fileBody is the body of an answer that sends a content or a range of it. The answer has a
// Content-Length, so a client notices if the body ends early.
type fileBody struct {
	api    *API
	x      *exchange
	src    io.ReadCloser
	left   int64 // bytes to send
	sent   int   // bytes
	err    error // error of src; nil: no error
	closed bool
}

// Read returns the next bytes. The server calls it as fast as the client reads.
func (b *fileBody) Read(p []byte) (n int, err error) {
	defer func() {
		if r := recover(); r != nil {
			b.err = b.api.countPanic(r)
			n, err = 0, io.ErrUnexpectedEOF
		}
	}()
	if b.left == 0 {
		return 0, io.EOF
	}
	n, err = b.src.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	b.sent += n
	if err != nil && (b.left > 0 || !errors.Is(err, io.EOF)) {
		b.err = b.x.cause(err)
		return n, io.ErrUnexpectedEOF
	}
	return n, nil
}

// Close frees the resources of the exchange, and records the exchange in the log and the metrics.
// The server calls it when the answer has been sent or cannot be sent.
func (b *fileBody) Close() error { return b.api.closed(b.x, b.end) }

func (b *fileBody) end() error {
	if b.closed {
		return nil
	}
	b.closed = true
	err := b.src.Close()
	b.x.sent, b.x.brokenBy = b.sent, b.x.endedBy(b.err, b.left == 0)
	b.x.release()
	b.api.record(b.x, b.err)
	return err
}
