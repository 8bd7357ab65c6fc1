package members

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/alds-dev/alds/internal/web/ui"
)

// memberForm is the data of the form for a new member.
type memberForm struct {
	Name, Nickname, Username, Email, Role, Project string
	Roles                                          []assignable
	Message                                        string
	Forgotten                                      bool // a password was typed; the form does not show it again
}

// newMember serves GET ui/members/new.
func newMember(v *ui.Visit) error {
	if !v.Member.ManagesMembers() {
		return notManaging()
	}
	return renderForm(v, memberForm{Role: "Role:4"})
}

// notManaging refuses a reader who does not manage members.
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

// indentedText returns a value as indented JSON.
func indentedText(value any) string {
	text, _ := json.MarshalIndent(value, "", "  ") // cannot fail: the value has only strings
	return string(text)
}

// createMember serves POST ui/members/new. The answer shows a generated password once.
func createMember(v *ui.Visit) error {
	if !v.Member.ManagesMembers() {
		return notManaging()
	}
	f := memberForm{Name: v.Field("name"), Nickname: v.Field("nickname"), Username: v.Field("username"), Email: v.Field("email"), Role: v.Field("role"), Project: v.Field("project")}
	password, made := v.Request.PostForm.Get("password"), false
	if password == "" {
		password, made = rand.Text(), true // random text of at least 128 bits
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
		written, err = v.Quiet().Write(commands...) // quiet, so that the footer of the page shows no password
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

// ownFailures removes the failures of later commands that failed only because the member was
// not created.
func ownFailures(message string) string {
	first, _, _ := strings.Cut(message, "; Invalid OID token: @")
	return first
}
