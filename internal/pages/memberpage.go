package pages

import (
	"net/url"
)

// memberPage is what the page of a member shows.
type memberPage struct {
	person
	Held     []heldRole
	Roles    []assignable
	Tokens   []token
	Reads    bool // the reader may see the tokens
	Manages  bool
	IsReader bool
	Message  string
}

// showMember serves GET ui/members/<Oid>.
func showMember(v *visit) error { return v.memberPage("") }

func (v *visit) memberPage(message string) error {
	oid := v.r.PathValue("oid")
	if !isOid(oid, "Member") {
		return notFound()
	}
	var found []person
	page := memberPage{Message: message, Manages: v.manages(), IsReader: oid == v.member.Oid}
	err := v.api.find([]query{{"from": "Member", "filter": []string{"ID='" + oid + "'", "AssetState!='Template'"}, "select": personTokens}, rolesQuery}, &found, &page.Roles)
	if err != nil {
		return err
	}
	if len(found) != 1 {
		return notFound()
	}
	page.person = found[0]
	namedRoles(page.Roles)
	held, err := v.rolesOf([]string{oid})
	if err != nil {
		return err
	}
	page.Held = held[oid]
	var list struct{ Tokens []token }
	refused, err := asFailure(v.api.get("api/tokens?member="+url.QueryEscape(oid), &list))
	if err != nil {
		return err
	}
	page.Tokens, page.Reads = list.Tokens, refused == nil
	people := []person{page.person}
	if err := v.lastUseOf(&people[0]); err != nil {
		return err
	}
	page.person = people[0]
	v.stands("api/asset?atomic=true", `[{"from": "`+oid+`", "update": {"DefaultRole": "Role:4", "IsLoginDisabled": true}}]`)
	v.stands("api/asset?atomic=true", `[{"from": "`+oid+`", "execute": "Inactivate"}]`)
	v.stands("api/asset?atomic=true", `[{"from": "`+oid+`", "execute": {"op": "AssignToScopeWithRole", "args": {"Scope": "Scope:…", "Role": "Role:4"}}}]`)
	return v.render("member", page.Name, &page)
}

// lastUseOf finds when a member signed in last; who may not read that does not see it.
func (v *visit) lastUseOf(p *person) error {
	var events struct{ Results []auditEvent }
	_, err := asFailure(v.api.get("api/audit?kind=SignIn&page=1&actor="+url.QueryEscape(p.Oid), &events))
	if err == nil && len(events.Results) > 0 {
		p.LastUse = events.Results[0].At
	}
	return err
}

// memberActs are what the forms of a member's page send.
var memberActs = map[string]func(v *visit, oid string) any{
	"role":       updating(func(v *visit) map[string]any { return map[string]any{"DefaultRole": v.field("role")} }),
	"disable":    updating(func(*visit) map[string]any { return map[string]any{"IsLoginDisabled": true} }),
	"enable":     updating(func(*visit) map[string]any { return map[string]any{"IsLoginDisabled": false} }),
	"login":      updating(login),
	"inactivate": executing("Inactivate"),
	"reactivate": executing("Reactivate"),
	"join":       joining,
	"leave": func(v *visit, oid string) any {
		return map[string]any{"from": v.field("project"), "update": map[string]any{"Members": map[string]string{"remove": oid}}}
	},
}

func updating(change func(*visit) map[string]any) func(*visit, string) any {
	return func(v *visit, oid string) any { return map[string]any{"from": oid, "update": change(v)} }
}

func executing(op string) func(*visit, string) any {
	return func(_ *visit, oid string) any { return map[string]any{"from": oid, "execute": op} }
}

// login is a username and password; an empty password stays.
func login(v *visit) map[string]any {
	change := map[string]any{"Username": v.field("username")}
	if password := v.r.PostForm.Get("password"); password != "" {
		change["Password"] = password
	}
	return change
}

// joining gives the member a role in a project, named by its Oid or its name.
func joining(v *visit, oid string) any {
	return map[string]any{"from": oid, "execute": map[string]any{"op": "AssignToScopeWithRole", "args": map[string]any{
		"Scope": v.field("project"), "Role": v.field("role"), "IsOwner": v.field("owner") != "",
	}}}
}

// actOnMember serves POST ui/members/<Oid>/<act>.
func actOnMember(v *visit) error {
	oid, name := v.r.PathValue("oid"), v.r.PathValue("act")
	act, known := memberActs[name]
	if !known || !isOid(oid, "Member") {
		return notFound()
	}
	if name == "leave" && !isOid(v.field("project"), "Scope") {
		return notFound()
	}
	_, err := v.asking(v.api.authorization).write(act(v, oid)) // no page shows a password
	refused, err := asFailure(err)
	if err != nil {
		return err
	}
	if refused != nil {
		v.status = refused.Status
		return v.memberPage(memberRefusal(refused.Message))
	}
	return v.to("/ui/members/" + oid + "?done=saved")
}

// revokeOf serves POST ui/members/<Oid>/tokens/<id>.
func revokeOf(v *visit) error {
	oid := v.r.PathValue("oid")
	id, err := v.uuid("id")
	if err != nil || !isOid(oid, "Member") {
		return notFound()
	}
	if err := v.api.post("api/tokens/revoke/"+id, struct{}{}, nil); err != nil {
		return err
	}
	return v.to("/ui/members/" + oid + "?done=revoked")
}
