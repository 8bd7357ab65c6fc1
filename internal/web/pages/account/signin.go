package account

import (
	"encoding/base64"
	"net/http"
	"time"

	"github.com/alds-dev/alds/internal/web/ui"
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
func showSignIn(v *ui.Visit) error {
	f := signInForm{Next: v.Param("next")}
	if v.Param("unsaved") != "" {
		f.Message = "The session has ended, so nothing was saved. Sign in and do it again."
	}
	return renderSignIn(v, f)
}

func renderSignIn(v *ui.Visit, f signInForm) error {
	secret := ""
	if c, err := v.Request.Cookie(visitorCookie); err == nil && len(c.Value) > ui.SaltBytes {
		secret = c.Value
	} else {
		secret = ui.FormToken("") // random
		c := v.Cookie(visitorCookie, secret, time.Time{})
		c.SameSite = http.SameSiteStrictMode
		http.SetCookie(v.Writer, c)
	}
	f.CSRF = ui.FormToken(secret)
	return v.Render("signin", "Sign in", f)
}

// signIn serves POST ui/sign-in: it makes a session with the name and password, and ends
// the one before.
func signIn(v *ui.Visit) error {
	f := signInForm{Next: v.Request.PostForm.Get("next"), Username: v.Field("username")}
	if c, err := v.Request.Cookie(visitorCookie); err != nil || !ui.IsToken(c.Value, v.Request.PostForm.Get("csrf")) {
		v.Status, f.Message = http.StatusForbidden, "The form was open for too long, or the browser keeps no cookies. Try again."
		return renderSignIn(v, f)
	}
	if err := begin(v, f.Username, v.Request.PostForm.Get("password")); err != nil {
		refused, err := ui.AsError(err)
		if err != nil {
			return err
		}
		v.Status, f.Message = refused.Status, refused.Message
		return renderSignIn(v, f)
	}
	http.Redirect(v.Writer, v.Request, v.Site.OwnPath(f.Next), http.StatusSeeOther)
	return nil
}

// begin makes a session, which takes the place of the one before. Errors: *ui.Error.
func begin(v *ui.Visit, username, password string) error {
	before := v.Session
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(username+":"+password))
	var s session
	if err := v.Asking(basic).Post("api/tokens", map[string]any{"session": true}, &s); err != nil {
		return err
	}
	v.Remember(s.Token, s.Expires)
	if before != "" {
		return ui.IgnoreRefusal(v.Asking("Bearer "+before).Post("api/tokens/revoke/current", struct{}{}, nil))
	}
	return nil
}

// signOut serves POST ui/sign-out. Whose session has ended already is out, too.
func signOut(v *ui.Visit) error {
	if v.Session != "" && !ui.IsToken(v.Session, v.Request.PostForm.Get("csrf")) {
		return &ui.Error{Status: http.StatusForbidden, Message: "This form is of an earlier sign-in. Go back, reload the page and send it again."}
	}
	if err := ui.IgnoreRefusal(v.API.Post("api/tokens/revoke/current", struct{}{}, nil)); err != nil {
		return err
	}
	v.Forget()
	return v.Redirect("/ui/sign-in")
}
