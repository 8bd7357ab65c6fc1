package pages

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

// remember gives the browser a session.
func (v *visit) remember(session string, expires time.Time) {
	http.SetCookie(v.w, v.cookie(v.p.cookie, session, expires))
	v.session = session
}

// forget takes the session from the browser.
func (v *visit) forget() {
	c := v.cookie(v.p.cookie, "", time.Time{})
	c.MaxAge = -1
	http.SetCookie(v.w, c)
	v.session = ""
}

func (v *visit) cookie(name, value string, expires time.Time) *http.Cookie {
	return &http.Cookie{
		Name: name, Value: value, Path: v.p.base + "/", Expires: expires,
		HttpOnly: true, Secure: v.r.URL.Scheme == "https", SameSite: http.SameSiteLaxMode,
	}
}

// saltBytes begin the token of a form, so that no two pages have the same: what is
// packed together with what a stranger chooses must not repeat.
const saltBytes = 16

// formToken returns what a form of this visit sends along, so that no page but those of
// the session can have made it.
//
// Shape: the base64 of a salt and its HMAC under the session.
func (v *visit) formToken() string { return formToken(v.session) }

func formToken(secret string) string {
	salt := make([]byte, saltBytes)
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
func (v *visit) isOwnForm() bool { return isToken(v.session, v.r.PostForm.Get("csrf")) }

func isToken(secret, token string) bool {
	b, err := base64.RawURLEncoding.DecodeString(token)
	return err == nil && secret != "" && len(b) > saltBytes && hmac.Equal(b, seal(secret, b[:saltBytes]))
}

// toSignIn leads to the sign-in and, after it, back to a page that is read.
func (v *visit) toSignIn() error {
	next := ""
	if v.r.Method == http.MethodGet {
		next = v.r.URL.RequestURI()
	}
	where := link(v.p.base, "/ui/sign-in")
	if next != "" && next != v.p.base+"/ui/" && next != v.p.base+"/" {
		where = link(v.p.base, "/ui/sign-in", "next", next)
	}
	v.protect()
	if v.isPart() {
		v.w.Header().Set("HX-Redirect", where)
		return nil
	}
	http.Redirect(v.w, v.r, where, http.StatusSeeOther)
	return nil
}

// ownPath returns a path below the base that a link names, or that of the first page.
func (p *Pages) ownPath(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || strings.ContainsAny(text, "\\\t\r\n") || strings.Contains(u.Path, "/.") ||
		!strings.HasPrefix(u.Path, p.base+"/") || strings.HasPrefix(u.Path, "//") {
		return p.base + "/ui/"
	}
	return u.RequestURI()
}
