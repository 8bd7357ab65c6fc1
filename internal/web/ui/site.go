package ui

import (
	"errors"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/alds-dev/alds/internal/base/tracing"
)

// Options are the settings of pages.
type Options struct {
	Instance string // first segment of paths; empty: paths start at the root
	Public   string // base URL as browsers see it; forms may be sent from its origin
	Greets   bool   // a sample is offered, with a receiver that this process keeps in memory
	Log      *slog.Logger
}

// Site answers browsers; make it with New.
type Site struct {
	Base   string // what paths begin with, such as /alds
	Public string // base URL, as receivers of webhooks reach it
	Greets bool   // a sample is offered

	api     http.RoundTripper
	cookie  string // that has the session
	log     *slog.Logger
	shared  *template.Template // what every page has around it
	failed  templates
	statics statics
	mux     *http.ServeMux
	own     *http.CrossOriginProtection
	models  models
}

// Page answers a visit. Errors: *Error, where the interface refuses a request.
type Page func(v *Visit) error

// Set is pages that belong together. Patterns are those of http.ServeMux, below the
// base.
type Set struct {
	Pages     map[string]Page   // for those who have signed in
	Open      map[string]Page   // for everybody
	Templates fs.FS             // its folder templates has one file for each page, and parts.html, which they share
	Functions template.FuncMap  // what those call, beside what all do
	Notices   map[string]string // what a page says after a form has done its work, by the parameter done
}

// New returns a site that asks the interface through api. Wrong templates and patterns
// end the program at its start.
func New(api http.RoundTripper, o Options, sets ...Set) *Site {
	s := &Site{
		Base: strings.TrimSuffix("/"+o.Instance, "/"), Public: o.Public, Greets: o.Greets,
		api: api, cookie: ".V1.Ticket." + o.Instance, log: o.Log, shared: parseShared(), statics: readStatics(), mux: http.NewServeMux(), own: http.NewCrossOriginProtection(),
	}
	s.failed = s.parse(Set{Templates: templateFiles})
	if u, err := url.Parse(o.Public); err == nil && u.Host != "" {
		_ = s.own.AddTrustedOrigin(u.Scheme + "://" + u.Host) // it has no path
	}
	for _, set := range sets {
		s.add(set)
	}
	s.add(Set{
		Pages:     map[string]Page{"/": func(*Visit) error { return NotFound() }},
		Open:      map[string]Page{"GET /ui/static/{version}/{name}": serveStatic},
		Templates: templateFiles,
	})
	s.mux.Handle("GET /{$}", http.RedirectHandler(s.Base+"/ui/", http.StatusFound))
	return s
}

// add gives the pages of a set to the router.
func (s *Site) add(set Set) {
	parsed := s.parse(set)
	for pattern, show := range set.Pages {
		s.handle(pattern, parsed, signedIn(show))
	}
	for pattern, show := range set.Open {
		s.handle(pattern, parsed, show)
	}
}

// handle gives a page to the router, below the base.
func (s *Site) handle(pattern string, t templates, show Page) {
	method, path, found := strings.Cut(pattern, " ")
	if !found {
		method, path = "", pattern
	}
	if s.Base == "" && path == "/{$}" {
		return // the root leads to the first page
	}
	s.mux.HandleFunc(strings.TrimSpace(method+" "+s.Base+path), func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, t, show) })
}

// ServeHTTP answers a browser.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	s.mux.ServeHTTP(w, r)
}

// policy is the Content-Security-Policy of pages: nothing of other hosts, nothing
// written into a page, no frame around it.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// protect sets the headers that protect readers.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Vary", "Cookie, Accept, Accept-Encoding, HX-Request, HX-History-Restore-Request")
}

// serve answers with a page, or with what went wrong.
func (s *Site) serve(w http.ResponseWriter, r *http.Request, t templates, show Page) {
	v := s.visit(w, r, t)
	err := s.own.Check(r)
	if err != nil {
		err = &Error{Status: http.StatusForbidden, Message: "A page of another site must not write."}
	}
	if err == nil && r.Method == http.MethodPost {
		err = v.readForm()
	}
	if err == nil {
		err = show(v)
	}
	if err != nil {
		v.fail(err)
	}
}

// signedIn is a page for those who have signed in; others are led to the sign-in and
// back.
func signedIn(show Page) Page {
	return func(v *Visit) error {
		if v.Session == "" {
			return v.toSignIn()
		}
		if err := v.meet(); err != nil {
			return err
		}
		if v.Request.Method == http.MethodPost && !v.isOwnForm() {
			return &Error{Status: http.StatusForbidden, Message: "This form is of an earlier sign-in. Go back, reload the page and send it again."}
		}
		return show(v)
	}
}

// ForAdministrators is a page of system administrators; others are told so before they
// have asked for anything.
func ForAdministrators(show Page) Page {
	return func(v *Visit) error {
		if !v.Member.Administers() {
			return &Error{Status: http.StatusForbidden, Message: "This page is for system administrators."}
		}
		return show(v)
	}
}

// failure is what the page of one shows.
type failure struct {
	Message string
	From    string // page with the form that failed; empty: it is not known
}

// fail answers with what went wrong: who has no session that counts signs in.
func (v *Visit) fail(err error) {
	f, ok := errors.AsType[*Error](err)
	switch {
	case ok:
	case v.Request.Context().Err() != nil:
		f = &Error{Status: http.StatusServiceUnavailable, Message: "The page took too long."}
	default:
		v.Site.log.Error("page failed", "request", tracing.RequestID(v.Request.Context()), "path", v.Request.URL.Path, "err", err)
		f = &Error{Status: http.StatusInternalServerError, Message: "The page could not be made. It has been logged."}
	}
	if f.Status == http.StatusUnauthorized && v.Session != "" {
		if v.Forget(); v.Request.Method == http.MethodGet || !v.IsPart() { // a script keeps what was typed
			_ = v.toSignIn()
			return
		}
	}
	v.Status, v.templates = f.Status, v.Site.failed
	page := failure{Message: f.Message}
	if v.Request.Method == http.MethodPost {
		page.From = v.From()
	}
	if err := v.Render("failure", http.StatusText(f.Status), page); err != nil {
		v.Site.log.Error("page failed", "request", tracing.RequestID(v.Request.Context()), "path", v.Request.URL.Path, "err", err)
		v.Writer.WriteHeader(http.StatusInternalServerError)
	}
}

// NotFound is the failure of a path that leads to nothing: a *Error, 404.
func NotFound() error {
	return &Error{Status: http.StatusNotFound, Message: "There is nothing here."}
}
