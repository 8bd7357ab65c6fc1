package pages

import (
	"net/url"
	"time"
)

// token is an access token or session as the interface lists it. Spec: interface 5.3.
type token struct {
	ID               string     `json:"id"`
	Name             string     `json:"name"`
	Session          bool       `json:"session"`
	Created          time.Time  `json:"created"`
	Expires          *time.Time `json:"expires"`
	LastUsed         *time.Time `json:"lastUsed"`
	LastAddress      string     `json:"lastAddress"`
	EndsWithPassword bool       `json:"endsWithPassword"`
	Current          bool       `json:"current"`
	Token            string     `json:"token"` // only of one that was just made
}

// applications is what the page of one's applications shows.
type applications struct {
	Tokens, Sessions []token
	New              *token // just made: its token is shown this once
	URL              string // of the service, for the curl line
	Message          string
	Name, Expires    string // what the form has
}

// showApplications serves GET ui/applications.
func showApplications(v *visit) error { return v.applications(applications{}) }

func (v *visit) applications(page applications) error {
	var list struct{ Tokens []token }
	if err := v.api.get("api/tokens", &list); err != nil {
		return err
	}
	for _, t := range list.Tokens {
		if t.Session {
			page.Sessions = append(page.Sessions, t)
		} else {
			page.Tokens = append(page.Tokens, t)
		}
	}
	page.URL = v.r.URL.Scheme + "://" + v.r.Host + v.p.base
	v.stands("api/tokens", `{"name": "Nightly import", "expires": "2027-01-01"}`)
	v.stands("api/tokens/revoke/<id>", "")
	return v.render("applications", "Applications", page)
}

// createApplication serves POST ui/applications: it makes an access token and shows it,
// once. The answer is no redirect, since nobody can read the token again.
func createApplication(v *visit) error {
	body := map[string]any{"name": v.field("name")}
	if at := v.field("expires"); at != "" {
		body["expires"] = at
	}
	if v.field("endsWithPassword") != "" {
		body["endsWithPassword"] = true
	}
	var made token
	err := v.api.post("api/tokens", body, &made)
	if refused, err := asFailure(err); err != nil {
		return err
	} else if refused != nil {
		v.status = refused.Status
		return v.applications(applications{Message: refused.Message, Name: v.field("name"), Expires: v.field("expires")})
	}
	return v.applications(applications{New: &made})
}

// revokeApplication serves POST ui/revoke/<id>.
func revokeApplication(v *visit) error {
	if err := v.api.post("api/tokens/revoke/"+url.PathEscape(v.r.PathValue("id")), struct{}{}, nil); err != nil {
		return err
	}
	return v.to("/ui/applications?done=revoked")
}
