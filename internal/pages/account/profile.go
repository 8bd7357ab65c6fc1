package account

import (
	"net/http"

	"github.com/alds-dev/alds/internal/ui"
)

// profile is what a member may change of itself. Spec: interface 5.8.3.
type profile struct {
	Oid      string `json:"_oid"`
	Name     string
	Nickname string
	Email    string
	Phone    string
	Username string
	Notify   bool `json:"NotifyViaEmail"`
	// Messages say what was refused, by form.
	ProfileMessage, PasswordMessage string `json:"-"`
}

// showProfile serves GET ui/profile.
func showProfile(v *ui.Visit) error { return renderProfile(v, "", "") }

func renderProfile(v *ui.Visit, aboutProfile, aboutPassword string) error {
	var found []profile
	err := v.API.Find([]ui.Query{{
		"from": "Member", "where": map[string]string{"IsSelf": "true"},
		"select": []string{"Name", "Nickname", "Email", "Phone", "Username", "NotifyViaEmail"},
	}}, &found)
	if err != nil {
		return err
	}
	if len(found) != 1 {
		return ui.NotFound()
	}
	found[0].ProfileMessage, found[0].PasswordMessage = aboutProfile, aboutPassword
	v.Sends("api/asset", `{"from": "`+v.Member.Oid+`", "update": {"Name": "…", "Email": "…"}}`)
	v.Sends("api/asset", `{"from": "`+v.Member.Oid+`", "update": {"Password": "…", "OldPassword": "…"}}`)
	return v.Render("profile", "Profile", found[0])
}

// changeProfile serves POST ui/profile.
func changeProfile(v *ui.Visit) error {
	update := map[string]any{"NotifyViaEmail": v.Field("NotifyViaEmail") != ""}
	for _, name := range []string{"Name", "Nickname", "Email", "Phone"} {
		update[name] = v.Field(name)
	}
	_, err := v.API.Write(map[string]any{"from": v.Member.Oid, "update": update})
	if err == nil {
		return v.Redirect("/ui/profile?done=saved")
	}
	refused, err := ui.AsError(err)
	if err != nil {
		return err
	}
	v.Status = refused.Status
	return renderProfile(v, ui.Readable(refused.Message), "")
}

// changePassword serves POST ui/password: all sessions end with the old password, and
// this browser gets a new one.
func changePassword(v *ui.Visit) error {
	fresh := v.Request.PostForm.Get("password")
	if fresh != v.Request.PostForm.Get("again") {
		v.Status = http.StatusBadRequest
		return renderProfile(v, "", "The new password and its repetition differ.")
	}
	quiet := v.Quiet() // no page shows a password
	_, err := quiet.Write(map[string]any{"from": v.Member.Oid, "update": map[string]any{
		"Password": fresh, "OldPassword": v.Request.PostForm.Get("old"),
	}})
	if refused, err := ui.AsError(err); err != nil {
		return err
	} else if refused != nil {
		v.Status = refused.Status
		return renderProfile(v, "", ui.Readable(refused.Message))
	}
	v.Session = ""
	if err := begin(v, v.Member.Username, fresh); err != nil {
		return v.Redirect("/ui/sign-in")
	}
	return v.Redirect("/ui/profile?done=changed")
}
