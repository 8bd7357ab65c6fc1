package account

import (
	"net/http"
	"net/url"
	"time"

	"github.com/alds-dev/alds/internal/web/ui"
)

// applications is the data of the page with the access tokens and sessions of the reader.
type applications struct {
	Tokens, Sessions []ui.Token
	New              *ui.Token // token that was just created; the page shows its secret only this time
	URL              string    // URL of the service, for the example with curl
	Message          string
	Name, Expires    string // input of the form
	EndsWithPassword bool
}

// showApplications serves GET ui/applications.
func showApplications(v *ui.Visit) error { return renderApplications(v, applications{}) }

func renderApplications(v *ui.Visit, page applications) error {
	var list struct{ Tokens []ui.Token }
	if err := v.API.Get("api/tokens", &list); err != nil {
		return err
	}
	for _, t := range list.Tokens {
		if t.Session {
			page.Sessions = append(page.Sessions, t)
		} else {
			page.Tokens = append(page.Tokens, t)
		}
	}
	page.URL = v.Request.URL.Scheme + "://" + v.Request.Host + v.Site.Base
	v.Sends("api/tokens", `{"name": "Nightly import", "expires": "2027-01-01"}`)
	v.Sends("api/tokens/revoke/<id>", "")
	return v.Render("applications", "Applications", page)
}

// createApplication serves POST ui/applications: it creates an access token and shows it. The
// answer is not a redirect, because the interface returns the token only once.
func createApplication(v *ui.Visit) error {
	page := applications{Name: v.Field("name"), Expires: v.Field("expires"), EndsWithPassword: v.Field("endsWithPassword") != ""}
	made, err := makeToken(v, page, time.Now())
	if refused, err := ui.AsError(err); err != nil {
		return err
	} else if refused != nil {
		v.Status, page.Message = refused.Status, refused.Message
		return renderApplications(v, page)
	}
	v.Writer.Header().Set("Cache-Control", "no-store")
	return renderApplications(v, applications{New: &made})
}

// makeToken creates the access token of a form. Errors: *ui.Error.
func makeToken(v *ui.Visit, form applications, now time.Time) (made ui.Token, err error) {
	if form.Name == "" {
		return made, &ui.Error{Status: http.StatusBadRequest, Message: "Write the name of the program."}
	}
	body := map[string]any{"name": form.Name}
	if form.Expires != "" {
		if body["expires"], err = expiry(form.Expires, now); err != nil {
			return made, err
		}
	}
	if form.EndsWithPassword {
		body["endsWithPassword"] = true
	}
	if err = v.Once(); err == nil {
		err = v.API.Post("api/tokens", body, &made)
	}
	return made, err
}

// expiry parses a day, at whose start the token expires, or an instant. Errors: *ui.Error.
func expiry(text string, now time.Time) (string, error) {
	at, err := ui.UTCInstant(text)
	switch {
	case err != nil:
		return "", &ui.Error{Status: http.StatusBadRequest, Message: "Expires: write a day such as 2027-01-31, or leave it empty."}
	case !at.After(now):
		return "", &ui.Error{Status: http.StatusBadRequest, Message: "Expires: that is over already. In UTC it is " + now.UTC().Format("2006-01-02 15:04") + "; write a later day."}
	}
	return at.Format(time.RFC3339), nil
}

// revokeApplication serves POST ui/revoke/<id>.
func revokeApplication(v *ui.Visit) error {
	if err := v.API.Post("api/tokens/revoke/"+url.PathEscape(v.Request.PathValue("id")), struct{}{}, nil); err != nil {
		return err
	}
	return v.Redirect("/ui/applications?done=revoked")
}
