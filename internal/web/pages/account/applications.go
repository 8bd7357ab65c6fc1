package account

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/web/ui"
)

// applications is the data of the page with the access tokens and sessions of the reader.
type applications struct {
	Tokens, Sessions []ui.Token
	New              *ui.Token // token that was just created; the page shows its secret only this time
	URL              string    // URL of the service, for the example with curl
	Message          string
	Projects         []project // for the form
	Soon             time.Time // tokens that end before this time are marked
	form
}

// form has the input of the form for a new token.
type form struct {
	Name, Expires             string
	EndsWithPassword          bool
	Writes                    string // all, plans, proposals or none
	NoDeletes                 bool   // true: the token deletes nothing
	Project, Types, Addresses string // empty: all; types and addresses are lists with commas
	Changes, Hourly           string // limits of changes; empty: none
}

// project is a project that the form offers.
type project struct {
	Oid  string `json:"_oid"`
	Name string
}

const (
	maxOffered = 500                 // projects that the form offers
	lasts      = 90 * 24 * time.Hour // how long a token is valid if the form is not changed
	soon       = 14 * 24 * time.Hour // a token that ends within this time is marked
)

// showApplications serves GET ui/applications.
func showApplications(v *ui.Visit) error {
	return renderApplications(v, applications{form: newForm(time.Now())})
}

func newForm(now time.Time) form {
	return form{Expires: now.UTC().Add(lasts).Format(time.DateOnly), Writes: "all"}
}

func renderApplications(v *ui.Visit, page applications) error {
	tokens, err := tokensOf(v)
	if err != nil {
		return err
	}
	q := ui.Query{
		"from": "Scope", "select": []string{"Name"}, "sort": []string{"Name"}, "filter": []string{"IsClosed='false'"},
		"page": map[string]int{"size": maxOffered, "start": 0},
	}
	if err := v.API.Find([]ui.Query{q}, &page.Projects); err != nil {
		return err
	}
	page.Soon = time.Now().Add(soon)
	for _, t := range tokens {
		if t.Session {
			page.Sessions = append(page.Sessions, t)
		} else {
			page.Tokens = append(page.Tokens, t)
		}
	}
	page.URL = v.Request.URL.Scheme + "://" + v.Request.Host + v.Site.Base
	v.Sends("api/tokens", `{"name": "Nightly import", "expires": "2027-01-01", "bounds": {"writes": "none"}}`)
	v.Sends("api/tokens/revoke/<id>", "")
	return v.Render("applications", "Applications", page)
}

// createApplication serves POST ui/applications: it creates an access token and shows it. The
// answer is not a redirect, because the interface returns the token only once.
func createApplication(v *ui.Visit) error {
	page := applications{form: form{
		Name: v.Field("name"), Expires: v.Field("expires"), EndsWithPassword: v.Field("endsWithPassword") != "",
		Writes: v.Field("writes"), NoDeletes: v.Field("noDeletes") != "",
		Project: v.Field("project"), Types: v.Field("types"), Addresses: v.Field("addresses"),
		Changes: v.Field("changes"), Hourly: v.Field("hourly"),
	}}
	made, err := makeToken(v, page.form, time.Now())
	if refused, err := ui.AsError(err); err != nil {
		return err
	} else if refused != nil {
		v.Status, page.Message = refused.Status, refused.Message
		return renderApplications(v, page)
	}
	v.Writer.Header().Set("Cache-Control", "no-store")
	return renderApplications(v, applications{New: &made, form: newForm(time.Now())})
}

// makeToken creates the access token of a form. Errors: *ui.Error.
func makeToken(v *ui.Visit, f form, now time.Time) (made ui.Token, err error) {
	if f.Name == "" {
		return made, &ui.Error{Status: http.StatusBadRequest, Message: "Write the name of the program."}
	}
	b, err := f.bounds()
	if err != nil {
		return made, err
	}
	body := map[string]any{"name": f.Name, "expires": "never", "bounds": b}
	if f.Expires != "" {
		if body["expires"], err = expiry(f.Expires, now); err != nil {
			return made, err
		}
	}
	if f.EndsWithPassword {
		body["endsWithPassword"] = true
	}
	if err = v.Once(); err == nil {
		err = v.API.Post("api/tokens", body, &made)
	}
	return made, err
}

// bounds returns the limits that the form sets. Errors: *ui.Error.
func (f *form) bounds() (b ui.Bounds, err error) {
	b = ui.Bounds{Writes: f.Writes, Deletes: !f.NoDeletes, Types: listed(f.Types), Addresses: listed(f.Addresses)}
	if b.Writes == "" {
		b.Writes = "all"
	}
	if f.Project != "" {
		b.Projects = []string{f.Project}
	}
	if b.Changes, err = most(f.Changes); err == nil {
		b.Hourly, err = most(f.Hourly)
	}
	return b, err
}

// most reads a limit of changes. An empty text is no limit. Errors: *ui.Error.
func most(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, &ui.Error{Status: http.StatusBadRequest, Message: "Write the largest number of changes as a whole number, or leave it empty."}
	}
	return n, nil
}

// listed returns the entries of a list with commas; nil: there are none.
func listed(text string) (all []string) {
	for one := range strings.SplitSeq(text, ",") {
		if one = strings.TrimSpace(one); one != "" {
			all = append(all, one)
		}
	}
	return all
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
