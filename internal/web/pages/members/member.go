package members

import (
	"net/url"

	"github.com/alds-dev/alds/internal/web/ui"
)

// memberPage is the data of a member's page.
type memberPage struct {
	person
	Held     []heldRole
	Roles    []assignable
	Tokens   []ui.Token
	Reads    bool // the reader may see the tokens and sign-ins
	Audits   bool // the reader may read the audit
	Manages  bool
	IsReader bool
	Message  string
	Typed    memberTyped // input of a refused form
}

// memberTyped is the input of the forms of a member's page.
type memberTyped struct{ Act, Username, Project, Role string }

// showMember serves GET ui/members/<Oid>.
func showMember(v *ui.Visit) error { return renderMember(v, memberPage{}) }

func renderMember(v *ui.Visit, page memberPage) error {
	oid := v.Request.PathValue("oid")
	if !ui.IsOid(oid, "Member") {
		return ui.NotFound()
	}
	var found []person
	page.Manages, page.IsReader = v.Member.ManagesMembers(), oid == v.Member.Oid
	err := v.API.Find([]ui.Query{{"from": "Member", "filter": []string{"ID='" + oid + "'", "AssetState!='Template'"}, "select": personTokens}, rolesQuery}, &found, &page.Roles)
	if err != nil {
		return err
	}
	if len(found) != 1 {
		return ui.NotFound()
	}
	page.person = found[0]
	if page.Typed.Act == "" {
		page.Typed = memberTyped{Username: page.Username, Role: page.Role.Oid}
	}
	namedRoles(page.Roles)
	held, err := rolesOf(v, []string{oid})
	if err != nil {
		return err
	}
	page.Held = held[oid]
	if page.Reads = v.Member.Administers(); page.Reads {
		var list struct{ Tokens []ui.Token }
		if err := v.API.Get("api/tokens?member="+url.QueryEscape(oid), &list); err != nil {
			return err
		}
		page.Tokens = list.Tokens
	}
	if page.Audits, err = audits(v); err != nil {
		return err
	}
	if page.Reads {
		signedIn, err := signIns(v, "page=1&actor="+url.QueryEscape(oid))
		if err != nil {
			return err
		}
		if len(signedIn) > 0 {
			page.LastUse = signedIn[0].At
		}
	}
	v.Sends("api/asset?atomic=true", `[{"from": "`+oid+`", "update": {"DefaultRole": "Role:4", "IsLoginDisabled": true}}]`)
	v.Sends("api/asset?atomic=true", `[{"from": "`+oid+`", "execute": "Inactivate"}]`)
	v.Sends("api/asset?atomic=true", `[{"from": "`+oid+`", "execute": {"op": "AssignToScopeWithRole", "args": {"Scope": "Scope:…", "Role": "Role:4"}}}]`)
	return v.Render("member", page.Name, &page)
}

// memberActs maps the name of a form of a member's page to the function that returns its command.
var memberActs = map[string]func(v *ui.Visit, oid string) any{
	"role":       updating(func(v *ui.Visit) map[string]any { return map[string]any{"DefaultRole": v.Field("role")} }),
	"disable":    updating(func(*ui.Visit) map[string]any { return map[string]any{"IsLoginDisabled": true} }),
	"enable":     updating(func(*ui.Visit) map[string]any { return map[string]any{"IsLoginDisabled": false} }),
	"login":      updating(login),
	"inactivate": executing("Inactivate"),
	"reactivate": executing("Reactivate"),
	"join":       joining,
	"leave": func(v *ui.Visit, oid string) any {
		return map[string]any{"from": v.Field("project"), "update": map[string]any{"Members": map[string]string{"remove": oid}}}
	},
}

func updating(change func(*ui.Visit) map[string]any) func(*ui.Visit, string) any {
	return func(v *ui.Visit, oid string) any { return map[string]any{"from": oid, "update": change(v)} }
}

func executing(op string) func(*ui.Visit, string) any {
	return func(_ *ui.Visit, oid string) any { return map[string]any{"from": oid, "execute": op} }
}

// login returns the new username and password. An empty password means no change.
func login(v *ui.Visit) map[string]any {
	change := map[string]any{"Username": v.Field("username")}
	if password := v.Request.PostForm.Get("password"); password != "" {
		change["Password"] = password
	}
	return change
}

// joining returns the command that gives the member a role in a project. The field has the Oid
// or name of the project.
func joining(v *ui.Visit, oid string) any {
	return map[string]any{"from": oid, "execute": map[string]any{"op": "AssignToScopeWithRole", "args": map[string]any{
		"Scope": v.Field("project"), "Role": v.Field("role"), "IsOwner": v.Field("owner") != "",
	}}}
}

// actOnMember serves POST ui/members/<Oid>/<act>.
func actOnMember(v *ui.Visit) error {
	oid, name := v.Request.PathValue("oid"), v.Request.PathValue("act")
	act, known := memberActs[name]
	if !known || !ui.IsOid(oid, "Member") {
		return ui.NotFound()
	}
	if name == "leave" && !ui.IsOid(v.Field("project"), "Scope") {
		return ui.NotFound()
	}
	_, err := v.Quiet().Write(act(v, oid)) // quiet, so that the footer of the page shows no password
	refused, err := ui.AsError(err)
	if err != nil {
		return err
	}
	if refused != nil {
		v.Status = refused.Status
		typed := memberTyped{name, v.Field("username"), v.Field("project"), v.Field("role")}
		return renderMember(v, memberPage{Message: memberRefusal(refused.Message), Typed: typed})
	}
	return v.Redirect("/ui/members/" + oid + "?done=saved")
}

// revokeOf serves POST ui/members/<Oid>/tokens/<id>.
func revokeOf(v *ui.Visit) error {
	oid := v.Request.PathValue("oid")
	id, err := v.UUID("id")
	if err != nil || !ui.IsOid(oid, "Member") {
		return ui.NotFound()
	}
	if err := v.API.Post("api/tokens/revoke/"+id, struct{}{}, nil); err != nil {
		return err
	}
	return v.Redirect("/ui/members/" + oid + "?done=revoked")
}
