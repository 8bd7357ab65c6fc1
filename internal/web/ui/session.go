package ui

import (
	"net/http"
	"net/url"
	"strings"
	"time"
)

// A session is an access token that expires after a week, or when the password changes. It is
// stored in a cookie that scripts cannot read. The interface stores only its hash. Spec:
// interface 5.3.

// Remember stores a session in a cookie of the browser.
func (v *Visit) Remember(session string, expires time.Time) {
	http.SetCookie(v.Writer, v.Cookie(v.Site.cookie, session, expires))
	v.Session = session
}

// Forget deletes the session cookie of the browser.
func (v *Visit) Forget() {
	c := v.Cookie(v.Site.cookie, "", time.Time{})
	c.MaxAge = -1
	http.SetCookie(v.Writer, c)
	v.Session = ""
}

// Cookie returns a cookie that is sent only to this site and that scripts cannot read.
func (v *Visit) Cookie(name, value string, expires time.Time) *http.Cookie {
	return &http.Cookie{
		Name: name, Value: value, Path: v.Site.Base + "/", Expires: expires,
		HttpOnly: true, Secure: v.Request.URL.Scheme == "https", SameSite: http.SameSiteLaxMode,
	}
}

// toSignIn redirects to the sign-in, which then redirects back to the page. If the request is a
// form, the form is not saved, and the sign-in redirects back to the page with the form.
func (v *Visit) toSignIn() error {
	next, params := v.from(), []string(nil)
	if v.Request.Method == http.MethodGet {
		next = v.Request.URL.RequestURI()
	} else {
		params = append(params, "unsaved", "true")
	}
	if next != "" && next != v.Site.Base+"/ui/" && next != v.Site.Base+"/" {
		params = append(params, "next", next)
	}
	where := Link(v.Site.Base, "/ui/sign-in", params...)
	if v.IsPart() {
		v.Writer.Header().Set("HX-Redirect", where)
		return nil
	}
	http.Redirect(v.Writer, v.Request, where, http.StatusSeeOther)
	return nil
}

// from returns the path of the page that the reader comes from. It is empty if this page is on
// another site or cannot be read with GET. The browser sends this value, so it is only used
// for links and proves nothing.
func (v *Visit) from() string {
	u, err := url.Parse(v.Request.Referer())
	if err != nil || u.Host != v.Request.Host {
		return ""
	}
	page := &url.URL{Path: u.Path, RawQuery: u.RawQuery}
	again := &http.Request{Method: http.MethodGet, Host: u.Host, URL: page}
	if _, pattern := v.Site.mux.Handler(again); pattern == "" || pattern == v.Site.Base+"/" || page.RequestURI() != v.Site.OwnPath(page.RequestURI()) {
		return ""
	}
	return page.RequestURI()
}

// OwnPath returns the path of a link if it is below the base, or else the path of the first
// page.
func (s *Site) OwnPath(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || strings.ContainsAny(text, "\\\t\r\n") || strings.Contains(u.Path, "/.") ||
		!strings.HasPrefix(u.Path, s.Base+"/") || strings.HasPrefix(u.Path, "//") {
		return s.Base + "/ui/"
	}
	return u.RequestURI()
}
