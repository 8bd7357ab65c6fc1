package account

import (
	"net/http"

	"github.com/alds-dev/alds/internal/web/ui"
)

// profile has the attributes that members may change for themselves. Spec: interface 5.8.3.
type profile struct {
	Oid      string `json:"_oid"`
	Name     string
	Nickname string
	Email    string
	Phone    string
	Username string
	Notify   bool `json:"NotifyViaEmail"`
	// Messages about a refused form, one for each form of the page.
	ProfileMessage, PasswordMessage string `json:"-"`
}

// showProfile serves GET ui/profile.
func showProfile(v *ui.Visit) error {
	p, err := readProfile(v)
	if err != nil {
		return err
	}
	return renderProfile(v, p)
}

// readProfile reads the profile of the reader. Errors: *ui.Error.
func readProfile(v *ui.Visit) (p profile, err error) {
	var found []profile
	err = v.API.Find([]ui.Query{{
		"from": "Member", "where": map[string]string{"IsSelf": "true"},
		"select": []string{"Name", "Nickname", "Email", "Phone", "Username", "NotifyViaEmail"},
	}}, &found)
	if err != nil {
		return p, err
	}
	if len(found) != 1 {
		return p, ui.NotFound()
	}
	return found[0], nil
}

func renderProfile(v *ui.Visit, p profile) error {
	v.Sends("api/asset", `{"from": "`+v.Member.Oid+`", "update": {"Name": "…", "Email": "…"}}`)
	v.Sends("api/asset", `{"from": "`+v.Member.Oid+`", "update": {"Password": "…", "OldPassword": "…"}}`)
	return v.Render("profile", "Profile", p)
}

// changeProfile serves POST ui/profile. If the change is refused, the form keeps its input.
func changeProfile(v *ui.Visit) error {
	typed := profile{
		Name: v.Field("Name"), Nickname: v.Field("Nickname"), Email: v.Field("Email"), Phone: v.Field("Phone"), Notify: v.Field("NotifyViaEmail") != "",
	}
	_, err := v.API.Write(map[string]any{"from": v.Member.Oid, "update": map[string]any{
		"Name": typed.Name, "Nickname": typed.Nickname, "Email": typed.Email, "Phone": typed.Phone, "NotifyViaEmail": typed.Notify,
	}})
	if err == nil {
		return v.Redirect("/ui/profile?done=saved")
	}
	refused, err := ui.AsError(err)
	if err != nil {
		return err
	}
	v.Status, typed.Username, typed.ProfileMessage = refused.Status, v.Member.Username, ui.Readable(refused.Message)
	return renderProfile(v, typed)
}

// changePassword serves POST ui/password. A new password ends all sessions, so this browser
// gets a new session.
func changePassword(v *ui.Visit) error {
	fresh := v.Request.PostForm.Get("password")
	if fresh != v.Request.PostForm.Get("again") {
		return refusePassword(v, http.StatusBadRequest, "The new password and its repetition differ.")
	}
	quiet := v.Quiet() // so that the footer of the page does not show the passwords of this request
	_, err := quiet.Write(map[string]any{"from": v.Member.Oid, "update": map[string]any{
		"Password": fresh, "OldPassword": v.Request.PostForm.Get("old"),
	}})
	if refused, err := ui.AsError(err); err != nil {
		return err
	} else if refused != nil {
		return refusePassword(v, refused.Status, passwordRefusal(refused.Message))
	}
	v.Session = ""
	if err := begin(v, v.Member.Username, fresh); err != nil {
		return v.Redirect("/ui/sign-in")
	}
	return v.Redirect("/ui/profile?done=changed")
}

// passwordRefusal returns the text for a refused change of the password.
func passwordRefusal(message string) string {
	switch code := ui.Coded.FindStringSubmatch(message); {
	case code == nil || code[4] != "OldPassword":
	case code[2] == "Required":
		return "Write the present password."
	case code[2] == "Invalid":
		return "The present password is wrong."
	}
	return ui.Readable(message)
}

// refusePassword shows the profile with a message at the form for the password.
func refusePassword(v *ui.Visit, status int, message string) error {
	p, err := readProfile(v)
	if err != nil {
		return err
	}
	v.Status, p.PasswordMessage = status, message
	return renderProfile(v, p)
}
