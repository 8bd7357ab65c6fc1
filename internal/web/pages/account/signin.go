package account

import (
	"encoding/base64"
	"net/http"
	"time"

	"github.com/alds-dev/alds/internal/web/ui"
)

// visitorCookie holds the secret for the form token of the sign-in, when there is no session
// yet.
const visitorCookie = "alds.visitor"

// signInForm is the data of the sign-in page.
type signInForm struct {
	Next, Username, Message, CSRF string
}

// session is the answer of the interface for a new session. Spec: interface 5.3.
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

// signIn serves POST ui/sign-in: it creates a session with the username and password, and
// revokes the previous session.
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

// begin creates a session and revokes the previous session. Errors: *ui.Error.
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

// signOut serves POST ui/sign-out. It also succeeds if the session has already ended.
func signOut(v *ui.Visit) error {
	if v.Session != "" && !ui.IsToken(v.Session, v.Request.PostForm.Get("csrf")) {
		return &ui.Error{Status: http.StatusForbidden, Message: "This form comes from an earlier sign-in. Go back, reload the page and send it again."}
	}
	if err := ui.IgnoreRefusal(v.API.Post("api/tokens/revoke/current", struct{}{}, nil)); err != nil {
		return err
	}
	v.Forget()
	return v.Redirect("/ui/sign-in")
}
