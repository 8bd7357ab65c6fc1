package pages

import (
	"encoding/base64"
	"net/http"
	"time"
)

// visitorCookie holds what the form of the sign-in is checked against, when there is no
// session yet.
const visitorCookie = "alds.visitor"

// signInForm is what the sign-in shows.
type signInForm struct {
	Next, Username, Message, CSRF string
}

// session is what the interface says of a new one. Spec: interface 5.3.
type session struct {
	ID      string    `json:"id"`
	Token   string    `json:"token"`
	Expires time.Time `json:"expires"`
}

// showSignIn serves GET ui/sign-in.
func showSignIn(v *visit) error {
	return v.signInForm(signInForm{Next: v.param("next")})
}

func (v *visit) signInForm(f signInForm) error {
	secret := ""
	if c, err := v.r.Cookie(visitorCookie); err == nil && len(c.Value) > saltBytes {
		secret = c.Value
	} else {
		secret = formToken("") // random
		c := v.cookie(visitorCookie, secret, time.Time{})
		c.SameSite = http.SameSiteStrictMode
		http.SetCookie(v.w, c)
	}
	f.CSRF = formToken(secret)
	return v.render("signin", "Sign in", f)
}

// signIn serves POST ui/sign-in: it makes a session with the name and password, and ends
// the one before.
func signIn(v *visit) error {
	f := signInForm{Next: v.r.PostForm.Get("next"), Username: v.field("username")}
	if c, err := v.r.Cookie(visitorCookie); err != nil || !isToken(c.Value, v.r.PostForm.Get("csrf")) {
		v.status, f.Message = http.StatusForbidden, "The form was open for too long, or the browser keeps no cookies. Try again."
		return v.signInForm(f)
	}
	if err := v.begin(f.Username, v.r.PostForm.Get("password")); err != nil {
		refused, err := asFailure(err)
		if err != nil {
			return err
		}
		v.status, f.Message = refused.Status, refused.Message
		return v.signInForm(f)
	}
	v.protect()
	http.Redirect(v.w, v.r, v.p.ownPath(f.Next), http.StatusSeeOther)
	return nil
}

// begin makes a session, which takes the place of the one before. Errors: *failure.
func (v *visit) begin(username, password string) error {
	before := v.session
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(username+":"+password))
	var s session
	if err := v.asking(basic).post("api/tokens", map[string]any{"session": true}, &s); err != nil {
		return err
	}
	v.remember(s.Token, s.Expires)
	if before != "" {
		return ignoreRefusal(v.asking("Bearer "+before).post("api/tokens/revoke/current", struct{}{}, nil))
	}
	return nil
}

// signOut serves POST ui/sign-out.
func signOut(v *visit) error {
	if err := ignoreRefusal(v.api.post("api/tokens/revoke/current", struct{}{}, nil)); err != nil {
		return err
	}
	v.forget()
	v.protect()
	return v.to("/ui/sign-in")
}
