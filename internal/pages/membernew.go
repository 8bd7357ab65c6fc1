package pages

import "strings"

// memberForm is what the form of a new member has.
type memberForm struct {
	Name, Nickname, Username, Email, Role, Project string
	Roles                                          []assignable
	Message                                        string
}

// newMember serves GET ui/members/new.
func newMember(v *visit) error { return v.memberForm(memberForm{Role: "Role:4"}) }

func (v *visit) memberForm(f memberForm) error {
	if err := v.asking(v.api.authorization).find([]query{rolesQuery}, &f.Roles); err != nil {
		return err
	}
	namedRoles(f.Roles)
	v.stands("api/asset?atomic=true", indentedText([]any{
		map[string]any{"@member": map[string]string{"AssetType": "Member", "Name": "…", "Nickname": "…", "Username": "…", "Password": "…", "DefaultRole": "Role:4"}},
		map[string]any{"from": "@member", "execute": map[string]any{"op": "AssignToScopeWithRole", "args": map[string]any{"Scope": "Scope:…", "Role": "Role:4"}}},
	}))
	return v.render("member_new", "New member", &f)
}

// indentedText is a value as a page shows it.
func indentedText(value any) string {
	text, _ := indented(value) // it is made of texts
	return text
}

// createMember serves POST ui/members/new. What is to be handed over is shown once.
func createMember(v *visit) error {
	f := memberForm{Name: v.field("name"), Nickname: v.field("nickname"), Username: v.field("username"), Email: v.field("email"), Role: v.field("role"), Project: v.field("project")}
	password, made := v.r.PostForm.Get("password"), false
	if password == "" {
		password, made = newReceiverID(), true // random words of as many bits
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
	written, err := v.asking(v.api.authorization).write(commands...) // no page shows a password of somebody else in its requests
	refused, err := asFailure(err)
	if err != nil {
		return err
	}
	if refused != nil {
		v.status, f.Message = refused.Status, memberRefusal(ownFailures(refused.Message))
		return v.memberForm(f)
	}
	page := map[string]any{
		"Form": f, "Oid": "", "Password": "",
		"SignIn": v.r.URL.Scheme + "://" + v.r.Host + v.p.base + "/ui/sign-in",
	}
	if len(written.AssetsCreated.OidTokens) > 0 {
		page["Oid"] = written.AssetsCreated.OidTokens[0]
	}
	if made {
		page["Password"] = password
	}
	v.w.Header().Set("Cache-Control", "no-store")
	return v.render("member_made", "Member", page)
}

// ownFailures leaves out what failed only because the member was not made.
func ownFailures(message string) string {
	first, _, _ := strings.Cut(message, "; Invalid OID token: @")
	return first
}
