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

// Options are the settings of the pages.
type Options struct {
	Instance string // first segment of all paths; empty: paths start at the root
	Public   string // base URL as browsers see it; forms may also come from this origin
	Greets   bool   // offer a sample, with a receiver that this process stores in memory
	Log      *slog.Logger
}

// Site serves the pages to browsers. Create it with New.
type Site struct {
	Base   string // prefix of all paths, such as /alds
	Public string // base URL at which receivers of webhooks are reached
	Greets bool   // offer a sample

	api     http.RoundTripper
	cookie  string // name of the session cookie
	log     *slog.Logger
	shared  *template.Template // layout and parts of every page
	failed  templates
	statics statics
	mux     *http.ServeMux
	own     *http.CrossOriginProtection
	models  models
}

// Page answers a visit. Errors: *Error if the interface refuses a request.
type Page func(v *Visit) error

// Set is a group of pages. Its patterns have the form of http.ServeMux and are relative to the
// base.
type Set struct {
	Pages     map[string]Page   // pages that need a sign-in
	Open      map[string]Page   // pages that need no sign-in
	Templates fs.FS             // folder templates: one file for each page, and parts.html, which the pages share
	Functions template.FuncMap  // functions for these templates only; all templates have the functions in render.go
	Notices   map[string]string // texts after a form succeeded; key: value of the parameter done
}

// New returns a site that sends its requests to the interface through api. It panics if a
// template or a pattern is wrong.
func New(api http.RoundTripper, o Options, sets ...Set) *Site {
	s := &Site{
		Base: strings.TrimSuffix("/"+o.Instance, "/"), Public: o.Public, Greets: o.Greets,
		api: api, cookie: ".V1.Ticket." + o.Instance, log: o.Log, shared: parseShared(), statics: readStatics(), mux: http.NewServeMux(), own: http.NewCrossOriginProtection(),
	}
	s.failed = s.parse(Set{Templates: templateFiles})
	if u, err := url.Parse(o.Public); err == nil && u.Host != "" {
		_ = s.own.AddTrustedOrigin(u.Scheme + "://" + u.Host) // cannot fail: the origin has no path
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

// add registers the pages of a set.
func (s *Site) add(set Set) {
	parsed := s.parse(set)
	for pattern, show := range set.Pages {
		s.handle(pattern, parsed, signedIn(show))
	}
	for pattern, show := range set.Open {
		s.handle(pattern, parsed, show)
	}
}

// handle registers a page below the base.
func (s *Site) handle(pattern string, t templates, show Page) {
	method, path, found := strings.Cut(pattern, " ")
	if !found {
		method, path = "", pattern
	}
	if s.Base == "" && path == "/{$}" {
		return // the root redirects to the first page
	}
	s.mux.HandleFunc(strings.TrimSpace(method+" "+s.Base+path), func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, t, show) })
}

// ServeHTTP answers a browser.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	s.mux.ServeHTTP(w, r)
}

// policy is the Content-Security-Policy of all pages. It forbids resources of other hosts,
// inline scripts and styles, and frames around the page.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// protect sets the security headers of an answer.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Vary", "Cookie, Accept, Accept-Encoding, HX-Request, HX-History-Restore-Request")
}

// serve answers with a page, or with an error page.
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

// signedIn returns a page that only signed-in members see. Other readers are redirected to the
// sign-in and then back.
func signedIn(show Page) Page {
	return func(v *Visit) error {
		if v.Session == "" {
			return v.toSignIn()
		}
		if err := v.meet(); err != nil {
			return err
		}
		if v.Request.Method == http.MethodPost && !v.isOwnForm() {
			return &Error{Status: http.StatusForbidden, Message: "This form comes from an earlier sign-in. Go back, reload the page and send it again."}
		}
		return show(v)
	}
}

// ForAdministrators returns a page that only system administrators see. Other members get a
// 403 before the page sends any request.
func ForAdministrators(show Page) Page {
	return func(v *Visit) error {
		if !v.Member.Administers() {
			return &Error{Status: http.StatusForbidden, Message: "This page is for system administrators."}
		}
		return show(v)
	}
}

// failure is the data of the error page.
type failure struct {
	Message string
	From    string // path of the page with the form that failed; empty if unknown
}

// fail answers with an error page. If the session is no longer valid, it redirects to the
// sign-in.
func (v *Visit) fail(err error) {
	f, ok := errors.AsType[*Error](err)
	switch {
	case ok:
	case v.Request.Context().Err() != nil:
		f = &Error{Status: http.StatusServiceUnavailable, Message: "The page took too long."}
	default:
		v.Site.log.Error("page failed", "request", tracing.RequestID(v.Request.Context()), "path", v.Request.URL.Path, "err", err)
		f = &Error{Status: http.StatusInternalServerError, Message: "The page could not be created. The error is in the log."}
	}
	if f.Status == http.StatusUnauthorized && v.Session != "" {
		if v.Forget(); v.Request.Method == http.MethodGet || !v.IsPart() { // a form sent by a script stays open
			_ = v.toSignIn()
			return
		}
	}
	v.Status, v.templates = f.Status, v.Site.failed
	page := failure{Message: f.Message}
	if v.Request.Method == http.MethodPost {
		page.From = v.from()
	}
	if err := v.Render("failure", http.StatusText(f.Status), page); err != nil {
		v.Site.log.Error("page failed", "request", tracing.RequestID(v.Request.Context()), "path", v.Request.URL.Path, "err", err)
		v.Writer.WriteHeader(http.StatusInternalServerError)
	}
}

// NotFound returns the error for a path without a page: an *Error, 404.
func NotFound() error {
	return &Error{Status: http.StatusNotFound, Message: "This page does not exist."}
}
