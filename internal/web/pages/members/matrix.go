package members

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/web/ui"
)

// Bounds of the matrix of roles.
const (
	matrixColumns = 10 // child projects that are shown at once
	matrixChain   = 50 // projects above the selected project
)

// matrixScope is a project in the matrix.
type matrixScope struct {
	Oid    string `json:"_oid"`
	Name   string
	Parent struct {
		Oid string `json:"_oid"`
	}
}

// matrixCell is the role of a member in a project.
type matrixCell struct {
	Scope     matrixScope
	Role      string
	Inherited bool
	From      string // project from which the role is inherited; empty: not inherited, or the default role
	Owner     bool
	Link      string // opens the form of the cell
}

// matrixRow is a member with one cell for each project.
type matrixRow struct {
	Person person
	Cells  []matrixCell
}

// matrixPage shows the roles of members in a project and its child projects.
type matrixPage struct {
	ui.ListPage
	Project   matrixScope
	Above     []matrixScope // ancestors of the project, the root first
	Columns   []matrixScope // the project and some of its children
	Below     columnStretch // position of these children among all children
	Find      string
	All       bool // true: the page also shows members without a role here
	Rows      []matrixRow
	Roles     []assignable
	Edit      *matrixEdit
	Message   string
	Typed     string     // input of the field for the project
	Namesakes []namesake // several projects with this name
	Here      string     // URL of this page without an open form
	Audits    bool       // the reader may read the audit
}

// columnStretch is the position of the shown child projects among all of them.
type columnStretch struct{ ui.ListPage }

// Before returns the URL for the previous child projects, or "".
func (s columnStretch) Before() string { return s.to(s.Start > 0, max(s.Start-s.Size, 0)) }

// After returns the URL for the next child projects, or "".
func (s columnStretch) After() string { return s.to(s.Start+s.Size < s.Total, s.Start+s.Size) }

func (s columnStretch) to(is bool, start int) string {
	if !is {
		return ""
	}
	values := url.Values{"columns": {strconv.Itoa(start)}}
	for _, name := range []string{"project", "q", "who", "page"} {
		if text := s.Query.Get(name); text != "" {
			values.Set(name, text)
		}
	}
	return s.Path + "?" + values.Encode()
}

// matrixEdit is the form of one cell.
type matrixEdit struct {
	Member, Scope namedOid
	Cell          matrixCell
	RoleOid       string // role of the member in this project; empty: none
}

// showMatrix serves GET ui/members/roles.
func showMatrix(v *ui.Visit) error { return renderMatrix(v, "") }

func renderMatrix(v *ui.Visit, message string) error {
	size, start, err := v.ListPage()
	if err != nil {
		return err
	}
	page := matrixPage{Message: message, Find: v.Param("q"), All: v.Param("who") == "all"}
	if page.Audits, err = audits(v); err != nil {
		return err
	}
	err = matrixProjects(v, &page)
	refused, err := ui.AsError(err)
	if err != nil {
		return err
	}
	if refused != nil {
		v.Status, page.Message = refused.Status, refused.Message
		return v.Render("matrix", "Roles", &page)
	}
	q := ui.Query{"from": "Member", "select": personTokens, "sort": []string{"Name"}}
	if page.Find != "" {
		q["find"], q["findin"] = page.Find, []string{"Name", "Nickname", "Username", "Email"}
	}
	if !page.All {
		var oids []string
		for _, s := range slices.Concat(page.Above, page.Columns) {
			oids = append(oids, s.Oid)
		}
		q["filter"] = []string{"Scopes='" + strings.Join(oids, "','") + "'"}
	}
	people, total, err := findStretch[person](v, q, size, start)
	if err != nil {
		return err
	}
	here := v.Request.URL.Query()
	for _, name := range []string{"member", "in", "done"} {
		here.Del(name)
	}
	page.Here = v.Site.Base + "/ui/members/roles?" + here.Encode()
	page.ListPage = ui.ListPage{Total: total, Size: size, Start: start, Path: v.Site.Base + "/ui/members/roles", Query: here}
	if err := fillMatrix(v, &page, people); err != nil {
		return err
	}
	v.Sends("api/asset?atomic=true", indentedText([]any{assigning("Scope:…", "Member:…", "Role:4", false)}))
	v.Sends("api/asset?atomic=true", indentedText([]any{assigning("Scope:…", "Member:…", "", false)}))
	return v.Render("matrix", "Roles in "+page.Project.Name, &page)
}

// matrixProjects sets the project, its ancestors and some of its children. Errors: *ui.Error.
func matrixProjects(v *ui.Visit, page *matrixPage) error {
	from := 0
	if text := v.Param("columns"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > ui.MaxStart {
			return &ui.Error{Status: http.StatusBadRequest, Message: "columns is not the number of the first project below, from 0."}
		}
		from = n
	}
	first := ui.Query{"from": "Scope", "select": []any{"Name", "Parent", map[string]any{"from": "ParentMeAndUp", "select": []string{"Name", "Parent"}}}, "page": map[string]int{"size": 1, "start": 0}}
	oid, all, err := assetNamed(v, "Scope", "project")
	if page.Typed, page.Namesakes = v.Param("project"), all; len(all) > 0 {
		err = errNamesakes(page.Typed)
	}
	if err != nil {
		return err
	}
	if oid != "" {
		first["where"] = map[string]string{"ID": oid}
	}
	var found []struct {
		matrixScope
		Up []matrixScope `json:"ParentMeAndUp"`
	}
	if err := v.API.Find([]ui.Query{first}, &found); err != nil {
		return err
	}
	if len(found) != 1 {
		return &ui.Error{Status: http.StatusNotFound, Message: "There is no such project, or you do not see it."}
	}
	page.Project, page.Above = found[0].matrixScope, chainOf(found[0].matrixScope, found[0].Up)
	below, total, err := findStretch[matrixScope](v, ui.Query{
		"from": "Scope", "where": map[string]string{"Parent": page.Project.Oid},
		"select": []string{"Name", "Parent"}, "sort": []string{"Name"},
	}, matrixColumns, from)
	if err != nil {
		return err
	}
	page.Columns = append([]matrixScope{page.Project}, below...)
	page.Below = columnStretch{ui.ListPage{Total: total, Size: matrixColumns, Start: from, Path: v.Site.Base + "/ui/members/roles", Query: v.Request.URL.Query()}}
	return nil
}

// chainOf returns the ancestors of a project in order, the root first.
func chainOf(project matrixScope, up []matrixScope) []matrixScope {
	byOid := map[string]matrixScope{}
	for _, s := range up {
		byOid[s.Oid] = s
	}
	var chain []matrixScope
	for next, ok := byOid[project.Parent.Oid]; ok && len(chain) < matrixChain; next, ok = byOid[next.Parent.Oid] {
		chain = append(chain, next)
	}
	slices.Reverse(chain)
	return chain
}

// fillMatrix reads the roles of members and sets the rows and the form. Errors: *ui.Error.
func fillMatrix(v *ui.Visit, page *matrixPage, people []person) error {
	oids := make([]string, len(people))
	for i := range people {
		oids[i] = people[i].Oid
	}
	member, in := v.Param("member"), v.Param("in")
	if ui.IsOid(member, "Member") && !slices.Contains(oids, member) {
		oids = append(oids, member)
	}
	held, err := rolesOf(v, oids)
	if err != nil {
		return err
	}
	for i := range people {
		row := matrixRow{Person: people[i]}
		for _, s := range page.Columns {
			c := cellFor(page, &people[i], s, held[people[i].Oid])
			c.Link = page.Here + "&" + url.Values{"member": {people[i].Oid}, "in": {s.Oid}}.Encode()
			row.Cells = append(row.Cells, c)
			if people[i].Oid == member && s.Oid == in {
				page.Edit = &matrixEdit{Member: namedOid{member, people[i].Name}, Scope: namedOid{s.Oid, s.Name}, Cell: c}
			}
		}
		page.Rows = append(page.Rows, row)
	}
	if page.Edit == nil {
		return nil
	}
	for _, h := range held[member] {
		if h.Project.Oid == in {
			page.Edit.RoleOid = h.Role.Oid
		}
	}
	err = v.Quiet().Find([]ui.Query{rolesQuery}, &page.Roles)
	namedRoles(page.Roles)
	return err
}

// cellFor returns the effective role of a member in a project. The first of these counts: a
// role in the project, a role in the nearest ancestor, a default role that applies everywhere.
// Spec: interface 5.5.
func cellFor(page *matrixPage, p *person, in matrixScope, held []heldRole) matrixCell {
	c := matrixCell{Scope: in}
	way := []matrixScope{in}
	if in.Oid != page.Project.Oid {
		way = append(way, page.Project)
	}
	for _, s := range slices.Backward(page.Above) {
		way = append(way, s)
	}
	for i, s := range way {
		at := slices.IndexFunc(held, func(h heldRole) bool { return h.Project.Oid == s.Oid })
		if at < 0 {
			continue
		}
		c.Role, c.Inherited = held[at].Role.Name, i > 0
		if i > 0 {
			c.From = s.Name
		} else {
			c.Owner = held[at].Owner
		}
		return c
	}
	if p.Role.Oid == ui.SystemAdmin || p.Role.Oid == ui.MemberAdmin {
		c.Role, c.Inherited = p.RoleName(), true
	}
	return c
}

// assigning returns the command that gives a member a role in a project, or removes the role
// if role is empty.
func assigning(scope, member, role string, owner bool) any {
	if role == "" {
		return map[string]any{"from": scope, "update": map[string]any{"Members": map[string]string{"remove": member}}}
	}
	return map[string]any{"from": scope, "execute": map[string]any{"op": "AssignMemberWithRole", "args": map[string]any{"Member": member, "Role": role, "IsOwner": owner}}}
}

// changeMatrix serves POST ui/members/roles.
func changeMatrix(v *ui.Visit) error {
	scope, member, role := v.Field("in"), v.Field("member"), v.Field("role")
	if !ui.IsOid(scope, "Scope") || !ui.IsOid(member, "Member") || role != "" && !ui.IsOid(role, "Role") {
		return &ui.Error{Status: http.StatusBadRequest, Message: "The form has no valid project, member or role."}
	}
	v.CannotUndo()
	_, err := v.API.Write(assigning(scope, member, role, v.Field("owner") != ""))
	refused, err := ui.AsError(err)
	if err != nil {
		return err
	}
	if refused != nil {
		v.Status = refused.Status
		return renderMatrix(v, memberRefusal(refused.Message))
	}
	back := ui.WithoutResults(v.Request.URL.Query())
	back.Del("member")
	back.Del("in")
	back.Set("done", "saved")
	return v.Redirect("/ui/members/roles?" + back.Encode())
}
