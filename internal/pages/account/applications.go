package account

import (
	"net/url"

	"github.com/alds-dev/alds/internal/ui"
)

// applications is what the page of one's applications shows.
type applications struct {
	Tokens, Sessions []ui.Token
	New              *ui.Token // just made: its token is shown this once
	URL              string    // of the service, for the curl line
	Message          string
	Name, Expires    string // what the form has
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

// createApplication serves POST ui/applications: it makes an access token and shows it,
// once. The answer is no redirect, since nobody can read the token again.
func createApplication(v *ui.Visit) error {
	body := map[string]any{"name": v.Field("name")}
	if at := v.Field("expires"); at != "" {
		body["expires"] = at
	}
	if v.Field("endsWithPassword") != "" {
		body["endsWithPassword"] = true
	}
	var made ui.Token
	err := v.API.Post("api/tokens", body, &made)
	if refused, err := ui.AsError(err); err != nil {
		return err
	} else if refused != nil {
		v.Status = refused.Status
		return renderApplications(v, applications{Message: refused.Message, Name: v.Field("name"), Expires: v.Field("expires")})
	}
	return renderApplications(v, applications{New: &made})
}

// revokeApplication serves POST ui/revoke/<id>.
func revokeApplication(v *ui.Visit) error {
	if err := v.API.Post("api/tokens/revoke/"+url.PathEscape(v.Request.PathValue("id")), struct{}{}, nil); err != nil {
		return err
	}
	return v.Redirect("/ui/applications?done=revoked")
}
