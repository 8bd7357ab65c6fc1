package httpapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/limits/admission"
	"github.com/alds-dev/alds/internal/limits/inbound"
)

// ui is the first segment of the paths of pages.
const ui = "ui"

// Limits of pages. A page waits for the requests that it sends to the interface. It has queues
// of its own, so that it does not hold a slot that these requests need.
const (
	maxPages         = 64       // pages that are made at the same time
	maxOwnPages      = 16       // pages of one network that are made at the same time
	maxReadersPages  = 4        // pages of one member that are made at the same time
	maxForm          = 2 << 20  // bytes of a form
	maxStrangersForm = 32 << 10 // bytes of a form without a valid session
	pageMemory       = 4 << 20  // bytes reserved for making a page, in addition to its form
)

func readerBounds() admission.Bounds {
	return admission.Bounds{Running: maxPages, PerKey: maxReadersPages, Line: maxOwnPages, Waiting: maxPages, Wait: maxWait}
}

func pageBounds() admission.Bounds {
	return admission.Bounds{Running: maxPages, PerKey: maxOwnPages, Line: maxOwnPages, Waiting: maxPages, Wait: maxWait}
}

// registerPages adds the paths of pages to the router.
func (a *API) registerPages(app *fiber.App, instance fiber.Router) {
	if a.pages == nil {
		return
	}
	for _, m := range []string{methodGet, methodHead, methodPost} {
		instance.Add(m, "/"+ui, a.servePage)
		instance.Add(m, "/"+ui+"/*", a.servePage)
	}
	refuse := methodNotAllowed([]string{methodGet, methodHead, methodPost})
	for _, m := range methods {
		if m != methodGet && m != methodHead && m != methodPost {
			instance.Add(m, "/"+ui, withoutContent, refuse)
			instance.Add(m, "/"+ui+"/*", withoutContent, refuse)
		}
	}
	people := func(c *fiber.Ctx) error {
		if a.isForPeople(c) {
			return a.servePage(c)
		}
		return c.Next()
	}
	for _, path := range []string{"/", "/assetdetail.v1", "/meta.v1", "/meta.v1/:type"} {
		instance.Get(path, people)
	}
	app.Get("/", people)
}

// withoutContent sets a Content-Security-Policy for answers that are not pages. Under this policy,
// a browser loads and runs nothing in the answer.
func withoutContent(c *fiber.Ctx) error {
	c.Set(fiber.HeaderContentSecurityPolicy, "default-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'")
	return c.Next()
}

// isForPeople reports whether the answer should be a page for people. That is the case if a browser
// requests a path that programs request, too. Spec: interface 4.2, 4.14.
func (a *API) isForPeople(c *fiber.Ctx) bool {
	if !lists(c.Request().Header.PeekAll(fiber.HeaderAccept), "text/html") {
		return false
	}
	if !strings.EqualFold(a.firstSegment(c.Path()), "meta.v1") {
		return true
	}
	// A client with an Authorization header gets the data: pages ignore this header and would redirect to the sign-in.
	return paramsOf(c.Request().URI().QueryArgs())["xsl"] != "" && len(c.Request().Header.Peek(fiber.HeaderAuthorization)) == 0
}

// servePage answers a browser with a page.
func (a *API) servePage(c *fiber.Ctx) (err error) {
	x := exchangeOf(c)
	x.route = ui
	x.hold = a.memory.Hold(networkOf(x.client))
	x.onRelease(x.hold.Release)
	who, proven := a.login(c.UserContext(), a.ticket(c), x.client)
	limit := maxForm
	if proven != nil {
		limit = maxStrangersForm // there is no valid session; the page reports that
	}
	form, err := x.body.read(limit, x.hold)
	var content io.Reader = bytes.NewReader(form)
	if errors.Is(err, errTooLarge) {
		content = tooLarge{limit} // the page reports that the form is too large
	} else if err != nil {
		return err
	}
	x.received = len(form)
	r, err := a.pageRequest(c, x, content)
	if err != nil {
		return err
	}
	if err := a.admitPage(c, x, who.Member); err != nil {
		return err
	}
	defer x.handled()
	w := &pageAnswer{header: http.Header{}, status: http.StatusOK}
	a.pages.ServeHTTP(w, r)
	if x.clientGone.Load() {
		x.brokenBy = "client"
	}
	w.send(c, x)
	return nil
}

// admitPage waits for a slot of the member, if there is a valid session, and then for a slot
// of the client's network. After that it reserves the memory of a page. Styles and scripts are
// static, so they need none of this. reader is the member; 0: no valid session.
func (a *API) admitPage(c *fiber.Ctx, x *exchange, reader int64) error {
	if strings.HasPrefix(c.Path(), a.base(Route{Path: ui + "/static"})+"/") {
		return nil
	}
	if reader != 0 {
		leave, err := a.readers.Enter(c.UserContext(), reader)
		if err != nil {
			return err
		}
		x.onRelease(leave)
	}
	leave, err := a.viewers.Enter(c.UserContext(), networkOf(x.client))
	if err != nil {
		return err
	}
	x.leave = leave
	x.onRelease(leave)
	return x.hold.Take(pageMemory)
}

// tooLarge replaces the content of a form that is too large. limit is in bytes.
type tooLarge struct{ limit int }

// Read fails with *http.MaxBytesError.
func (t tooLarge) Read([]byte) (int, error) {
	return 0, &http.MaxBytesError{Limit: int64(t.limit)}
}

// networkOf returns the network of a client's address. Text that is not an IP address is
// returned unchanged.
func networkOf(client string) string {
	if ip, err := netip.ParseAddr(client); err == nil {
		return inbound.Network(ip)
	}
	return client
}

// pageRequest returns the request of a browser as a request of the standard library. Its URL
// has the scheme that the browser uses.
func (a *API) pageRequest(c *fiber.Ctx, x *exchange, form io.Reader) (*http.Request, error) {
	ctx := context.WithValue(c.UserContext(), outerKey{}, outer{client: &net.TCPAddr{IP: net.ParseIP(x.client)}, id: x.ID, isGone: x.clientGone.Load})
	target := &url.URL{Scheme: "http", Host: string(c.Request().Header.Host()), Path: strings.Clone(c.Path()), RawQuery: string(c.Request().URI().QueryString())}
	if strings.HasPrefix(a.origin, "https:") || x.proxied && strings.EqualFold(c.Get(fiber.HeaderXForwardedProto), "https") {
		target.Scheme = "https"
	}
	r, err := http.NewRequestWithContext(ctx, strings.Clone(c.Method()), target.String(), form)
	if err != nil {
		return nil, fault.Invalidf(fault.NoPlace, "The Host cannot be read")
	}
	for name, v := range c.Request().Header.All() {
		r.Header.Add(string(name), string(v))
	}
	r.RemoteAddr = x.client
	return r, nil
}

// pageAnswer collects an answer in memory. It is an http.ResponseWriter.
type pageAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header returns the headers to send.
func (w *pageAnswer) Header() http.Header { return w.header }

// WriteHeader sets the status.
func (w *pageAnswer) WriteHeader(status int) { w.status = status }

// Write appends to the body.
func (w *pageAnswer) Write(b []byte) (int, error) { return w.body.Write(b) }

// send sets the answer of an exchange.
func (w *pageAnswer) send(c *fiber.Ctx, x *exchange) {
	c.Status(w.status)
	x.contentType = w.header.Get(fiber.HeaderContentType)
	w.header.Del(fiber.HeaderContentType)
	w.header.Del(fiber.HeaderContentLength)
	c.Response().Header.Del(fiber.HeaderCacheControl)
	if w.header.Get(fiber.HeaderCacheControl) == "" {
		w.header.Set(fiber.HeaderCacheControl, "no-store")
	}
	for name, values := range w.header {
		c.Response().Header.Del(name)
		for _, v := range values {
			c.Response().Header.Add(name, v)
		}
	}
	x.answer = w.body.Bytes()
}
