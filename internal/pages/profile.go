package pages

import "net/http"

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
func showProfile(v *visit) error { return v.profile("", "") }

func (v *visit) profile(aboutProfile, aboutPassword string) error {
	var found []profile
	err := v.api.find([]query{{
		"from": "Member", "where": map[string]string{"IsSelf": "true"},
		"select": []string{"Name", "Nickname", "Email", "Phone", "Username", "NotifyViaEmail"},
	}}, &found)
	if err != nil {
		return err
	}
	if len(found) != 1 {
		return notFound()
	}
	found[0].ProfileMessage, found[0].PasswordMessage = aboutProfile, aboutPassword
	v.stands("api/asset", `{"from": "`+v.member.Oid+`", "update": {"Name": "…", "Email": "…"}}`)
	v.stands("api/asset", `{"from": "`+v.member.Oid+`", "update": {"Password": "…", "OldPassword": "…"}}`)
	return v.render("profile", "Profile", found[0])
}

// changeProfile serves POST ui/profile.
func changeProfile(v *visit) error {
	update := map[string]any{"NotifyViaEmail": v.field("NotifyViaEmail") != ""}
	for _, name := range []string{"Name", "Nickname", "Email", "Phone"} {
		update[name] = v.field(name)
	}
	_, err := v.api.write(map[string]any{"from": v.member.Oid, "update": update})
	if err == nil {
		return v.to("/ui/profile?done=saved")
	}
	refused, err := asFailure(err)
	if err != nil {
		return err
	}
	v.status = refused.Status
	return v.profile(readable(refused.Message), "")
}

// changePassword serves POST ui/password: all sessions end with the old password, and
// this browser gets a new one.
func changePassword(v *visit) error {
	fresh := v.r.PostForm.Get("password")
	if fresh != v.r.PostForm.Get("again") {
		v.status = http.StatusBadRequest
		return v.profile("", "The new password and its repetition differ.")
	}
	quiet := v.asking(v.api.authorization) // no page shows a password
	_, err := quiet.write(map[string]any{"from": v.member.Oid, "update": map[string]any{
		"Password": fresh, "OldPassword": v.r.PostForm.Get("old"),
	}})
	if refused, err := asFailure(err); err != nil {
		return err
	} else if refused != nil {
		v.status = refused.Status
		return v.profile("", readable(refused.Message))
	}
	v.session = ""
	if err := v.begin(v.member.Username, fresh); err != nil {
		return v.to("/ui/sign-in")
	}
	return v.to("/ui/profile?done=changed")
}
