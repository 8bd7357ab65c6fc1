package httpapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/alds-dev/alds/internal/base/fault"
)

// Maximum sizes in bytes of the answer to a request within the process.
const (
	maxInner      = 16 << 20 // for a page
	maxAgentInner = 4 << 20  // for a call of an agent
)

// headerWrite is the id of the write that a request within the process has executed. Only answers within the
// process have it: a page offers to undo the write.
const headerWrite = "Alds-Write"

var errInner = fault.Invalidf(fault.NoPlace, "the answer to a request within the process is too large")

// outerKey is the key of the outer request, in the context of a page and in the user values of
// a request within the process.
type outerKey struct{}

// outer is a request that sends requests within the process: that of a browser for a page, or that of an agent.
type outer struct {
	ctx    context.Context // context of the inner request; when it ends, that request ends
	client net.Addr        // address of the client
	id     string          // X-Request-Id, which the inner requests have, too
	isGone func() bool     // reports whether the client has closed the connection
}

// door is an http.RoundTripper that sends requests to the interface within the process. The
// requests are authenticated, admitted, logged and counted like all others. Their client
// address is the address of the browser, from the outer request in their context.
type door struct {
	api   *API
	limit int // bytes of an answer
}

// RoundTrip sends a request and returns the complete answer. Errors: errInner; the error of an
// answer that ended early. Spec: interface 4.
func (d door) RoundTrip(r *http.Request) (*http.Response, error) {
	from, ok := r.Context().Value(outerKey{}).(outer)
	if !ok {
		return nil, errors.New("a request inside the process must be made while an HTTP request is handled")
	}
	from.ctx = r.Context()
	var f fasthttp.RequestCtx
	f.Init2(innerConn{addr: from.client}, noLog{}, true)
	defer func() { _ = f.Response.CloseBodyStream() }()
	f.SetUserValue(outerKey{}, from)
	if err := writeInner(&f.Request, r); err != nil {
		return nil, err
	}
	f.Request.Header.Set(headerRequestID, from.id)
	d.api.app.Server().Handler(&f)
	if x, ok := f.UserValue(exchangeKey{}).(*exchange); ok && x.Write() != "" {
		f.Response.Header.Set(headerWrite, x.Write())
	}
	return readInner(&f.Response, r, d.limit)
}

// writeInner copies a request into a request of the HTTP library.
func writeInner(to *fasthttp.Request, r *http.Request) error {
	to.Header.SetMethod(r.Method)
	to.SetRequestURI(r.URL.RequestURI())
	to.Header.SetHost(r.URL.Host)
	for name, values := range r.Header {
		for _, v := range values {
			to.Header.Add(name, v)
		}
	}
	if r.Body == nil {
		return nil
	}
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	to.SetBodyStream(bytes.NewReader(b), len(b))
	to.Header.SetContentLength(len(b))
	return r.Body.Close()
}

// readInner reads an answer to its end, at most limit bytes.
func readInner(from *fasthttp.Response, r *http.Request, limit int) (*http.Response, error) {
	body := from.Body
	var whole []byte
	if s := from.BodyStream(); s != nil {
		var err error
		if whole, err = io.ReadAll(io.LimitReader(s, int64(limit)+1)); err != nil {
			return nil, err
		}
	} else {
		whole = bytes.Clone(body())
	}
	if len(whole) > limit {
		return nil, errInner
	}
	answer := &http.Response{
		StatusCode: from.StatusCode(), Status: http.StatusText(from.StatusCode()), Request: r, Header: http.Header{},
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: io.NopCloser(bytes.NewReader(whole)), ContentLength: int64(len(whole)),
	}
	for name, v := range from.Header.All() {
		answer.Header.Add(string(name), string(v))
	}
	return answer, nil
}

// innerConn replaces the connection of a request within the process.
type innerConn struct {
	net.Conn
	addr net.Addr
}

// RemoteAddr returns the address of the outer request's client.
func (c innerConn) RemoteAddr() net.Addr { return c.addr }

// LocalAddr returns an empty address.
func (c innerConn) LocalAddr() net.Addr { return &net.TCPAddr{} }

// SetReadDeadline does nothing: the body is already in memory.
func (innerConn) SetReadDeadline(time.Time) error { return nil }

// Close does nothing.
func (innerConn) Close() error { return nil }
