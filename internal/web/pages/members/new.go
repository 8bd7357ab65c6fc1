package members

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/alds-dev/alds/internal/web/ui"
)

// memberForm is what the form of a new member has.
type memberForm struct {
	Name, Nickname, Username, Email, Role, Project string
	Roles                                          []assignable
	Message                                        string
	Forgotten                                      bool // a password was typed, which is not shown again
}

// newMember serves GET ui/members/new.
func newMember(v *ui.Visit) error {
	if !manages(v) {
		return notManaging()
	}
	return renderForm(v, memberForm{Role: "Role:4"})
}

// notManaging refuses those who make no members.
func notManaging() error {
	return &ui.Error{Status: http.StatusForbidden, Message: "New members are for system administrators and member administrators."}
}

func renderForm(v *ui.Visit, f memberForm) error {
	if err := v.Quiet().Find([]ui.Query{rolesQuery}, &f.Roles); err != nil {
		return err
	}
	namedRoles(f.Roles)
	v.Sends("api/asset?atomic=true", indentedText([]any{
		map[string]any{"@member": map[string]string{"AssetType": "Member", "Name": "…", "Nickname": "…", "Username": "…", "Password": "…", "DefaultRole": "Role:4"}},
		map[string]any{"from": "@member", "execute": map[string]any{"op": "AssignToScopeWithRole", "args": map[string]any{"Scope": "Scope:…", "Role": "Role:4"}}},
	}))
	return v.Render("new", "New member", &f)
}

// indentedText is a value as a page shows it.
func indentedText(value any) string {
	text, _ := json.MarshalIndent(value, "", "  ") // it is made of texts
	return string(text)
}

// createMember serves POST ui/members/new. What is to be handed over is shown once.
func createMember(v *ui.Visit) error {
	if !manages(v) {
		return notManaging()
	}
	f := memberForm{Name: v.Field("name"), Nickname: v.Field("nickname"), Username: v.Field("username"), Email: v.Field("email"), Role: v.Field("role"), Project: v.Field("project")}
	password, made := v.Request.PostForm.Get("password"), false
	if password == "" {
		password, made = rand.Text(), true // random words of as many bits
	}
	create := map[string]any{
		"AssetType": "Member", "Name": f.Name, "Nickname": f.Nickname, "Username": f.Username, "Password": password, "DefaultRole": f.Role,
	}
	if f.Email != "" {
		create["Email"] = f.Email
	}
	if f.Nickname == "" {
		create["Nickname"] = f.Name
	}
	commands := []any{map[string]any{"@member": create}}
	if f.Project != "" {
		commands = append(commands, map[string]any{"from": "@member", "execute": map[string]any{
			"op": "AssignToScopeWithRole", "args": map[string]any{"Scope": f.Project, "Role": f.Role},
		}})
	}
	err := v.Once()
	var written ui.Written
	if err == nil {
		written, err = v.Quiet().Write(commands...) // no page shows a password of somebody else in its requests
	}
	refused, err := ui.AsError(err)
	if err != nil {
		return err
	}
	if refused != nil {
		f.Forgotten = !made
		v.Status, f.Message = refused.Status, memberRefusal(ownFailures(refused.Message))
		return renderForm(v, f)
	}
	page := map[string]any{
		"Form": f, "Oid": "", "Password": "",
		"SignIn": v.Request.URL.Scheme + "://" + v.Request.Host + v.Site.Base + "/ui/sign-in",
	}
	if len(written.AssetsCreated.OidTokens) > 0 {
		page["Oid"] = written.AssetsCreated.OidTokens[0]
	}
	if made {
		page["Password"] = password
	}
	v.Writer.Header().Set("Cache-Control", "no-store")
	return v.Render("made", "Member", page)
}

// ownFailures leaves out what failed only because the member was not made.
func ownFailures(message string) string {
	first, _, _ := strings.Cut(message, "; Invalid OID token: @")
	return first
}
