package ui

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// A session is an access token that ends with the password and after a week. It stands
// in a cookie that no script reads; the interface knows it by its hash alone.
// Spec: interface 5.3.

// Remember gives the browser a session.
func (v *Visit) Remember(session string, expires time.Time) {
	http.SetCookie(v.Writer, v.Cookie(v.Site.cookie, session, expires))
	v.Session = session
}

// Forget takes the session from the browser.
func (v *Visit) Forget() {
	c := v.Cookie(v.Site.cookie, "", time.Time{})
	c.MaxAge = -1
	http.SetCookie(v.Writer, c)
	v.Session = ""
}

// Cookie returns a cookie for the pages alone, which no script reads.
func (v *Visit) Cookie(name, value string, expires time.Time) *http.Cookie {
	return &http.Cookie{
		Name: name, Value: value, Path: v.Site.Base + "/", Expires: expires,
		HttpOnly: true, Secure: v.Request.URL.Scheme == "https", SameSite: http.SameSiteLaxMode,
	}
}

// SaltBytes begin the token of a form, so that no two pages have the same: what is
// packed together with what a stranger chooses must not repeat.
const SaltBytes = 16

// formToken returns what a form of this visit sends along, so that no page but those of
// the session can have made it.
//
// Shape: the base64 of a salt and its HMAC under the session.
func (v *Visit) formToken() string { return FormToken(v.Session) }

// FormToken returns what a form sends along under a secret that the browser keeps.
func FormToken(secret string) string {
	salt := make([]byte, SaltBytes)
	_, _ = rand.Read(salt)
	return base64.RawURLEncoding.EncodeToString(seal(secret, salt))
}

// seal appends to a salt its HMAC.
func seal(secret string, salt []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("form of a page"))
	mac.Write(salt)
	return mac.Sum(append([]byte(nil), salt...))
}

// isOwnForm reports whether the form that was sent is of this session.
func (v *Visit) isOwnForm() bool { return IsToken(v.Session, v.Request.PostForm.Get("csrf")) }

// IsToken reports whether a form has been made under a secret.
func IsToken(secret, token string) bool {
	b, err := base64.RawURLEncoding.DecodeString(token)
	return err == nil && secret != "" && len(b) > SaltBytes && hmac.Equal(b, seal(secret, b[:SaltBytes]))
}

// toSignIn leads to the sign-in and, after it, back to a page that is read: after a form,
// which has saved nothing, the one where it stands.
func (v *Visit) toSignIn() error {
	next, params := v.From(), []string(nil)
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

// From returns the path of the page that led here, where it is one of this site that can
// be read again; else it is empty. The browser says which it was, so it is a place to
// lead to and proves nothing.
func (v *Visit) From() string {
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

// OwnPath returns a path below the base that a link names, or that of the first page.
func (s *Site) OwnPath(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || strings.ContainsAny(text, "\\\t\r\n") || strings.Contains(u.Path, "/.") ||
		!strings.HasPrefix(u.Path, s.Base+"/") || strings.HasPrefix(u.Path, "//") {
		return s.Base + "/ui/"
	}
	return u.RequestURI()
}
