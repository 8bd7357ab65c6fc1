package members

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/web/ui"
)

// person is a member as these pages show it.
type person struct {
	Oid      string `json:"_oid"`
	Name     string
	Nickname string
	Username string
	Email    string
	Phone    string
	State    string `json:"AssetState"`
	Disabled bool   `json:"IsLoginDisabled"`
	Role     struct {
		Oid string `json:"_oid"`
	} `json:"DefaultRole"`
	RoleTag string    `json:"DefaultRole.Name"`
	LastUse time.Time `json:"-"`
}

// personTokens are the attributes of person to select.
var personTokens = []string{"Name", "Nickname", "Username", "Email", "Phone", "AssetState", "IsLoginDisabled", "DefaultRole", "DefaultRole.Name"}

// RoleName returns the name of the default role.
func (p *person) RoleName() string { return ui.RoleName(p.RoleTag) }

// StateText returns a text that says whether the member can sign in.
func (p *person) StateText() string {
	switch {
	case p.State == "Closed":
		return "inactive"
	case p.State != "Active":
		return strings.ToLower(p.State)
	case p.Username == "":
		return "has no login"
	case p.Disabled:
		return "login disabled"
	}
	return "active"
}

// assignable is a role that a form offers.
type assignable struct {
	Oid  string `json:"_oid"`
	Name string
}

// rolesQuery selects all roles.
var rolesQuery = ui.Query{"from": "Role", "select": []string{"Name"}}

// namedRoles removes the tag prefix from the names of roles.
func namedRoles(roles []assignable) {
	for i := range roles {
		roles[i].Name = ui.RoleName(roles[i].Name)
	}
}

// memberStates has the filters of the list by state.
var memberStates = []struct{ Name, Title, filter string }{
	{"active", "can sign in or work", "AssetState='Active'"},
	{"disabled", "login disabled", "AssetState='Active';IsLoginDisabled='true'"},
	{"inactive", "inactive", "AssetState='Closed'"},
	{"deleted", "deleted", "AssetState='Deleted'"},
}

// membersPage is the list of members.
type membersPage struct {
	ui.ListPage
	Find, State, Role string
	States            any
	Roles             []assignable
	People            []person
	Manages           bool // forms that change members are shown
	Audits            bool // the reader may read the audit
}

// showMembers serves GET ui/members.
func showMembers(v *ui.Visit) error {
	size, start, err := v.ListPage()
	if err != nil {
		return err
	}
	page := membersPage{Find: v.Param("q"), State: v.Param("state"), Role: v.Param("role"), States: memberStates, Manages: v.Member.ManagesMembers()}
	q := ui.Query{"from": "Member", "select": personTokens, "sort": []string{"Name"}}
	if err := page.narrow(q); err != nil {
		return err
	}
	if page.People, page.Total, err = findStretch[person](v, q, size, start); err != nil {
		return err
	}
	if err := v.Quiet().Find([]ui.Query{rolesQuery}, &page.Roles); err != nil {
		return err
	}
	namedRoles(page.Roles)
	page.Size, page.Start, page.Path, page.Query = size, start, v.Site.Base+"/ui/members", v.Request.URL.Query()
	if page.Audits, err = audits(v); err != nil {
		return err
	}
	if v.Member.Administers() {
		if err := lastUses(v, page.People); err != nil {
			return err
		}
	}
	return v.Render("members", "Members", &page)
}

// narrow adds the filters of the list to a query. Errors: *ui.Error.
func (p *membersPage) narrow(q ui.Query) error {
	if p.Find != "" {
		q["find"], q["findin"] = p.Find, []string{"Name", "Nickname", "Username", "Email"}
	}
	filters := []string{}
	if p.State != "" {
		i := slices.IndexFunc(memberStates, func(s struct{ Name, Title, filter string }) bool { return s.Name == p.State })
		if i < 0 {
			return &ui.Error{Status: http.StatusBadRequest, Message: "There is no such state of members."}
		}
		filters = append(filters, memberStates[i].filter)
	}
	if p.Role != "" {
		if !ui.IsOid(p.Role, "Role") {
			return &ui.Error{Status: http.StatusBadRequest, Message: "There is no such role."}
		}
		filters = append(filters, "DefaultRole='"+p.Role+"'")
	}
	if len(filters) > 0 {
		q["filter"] = filters
	}
	return nil
}

// findStretch runs a query and returns one page of its rows and the total number of rows.
// Errors: *ui.Error.
func findStretch[row any](v *ui.Visit, q ui.Query, size, start int) (rows []row, total int, err error) {
	q["page"], q["total"] = map[string]int{"size": size, "start": start}, true
	body, err := json.Marshal(q)
	if err != nil {
		return nil, 0, err
	}
	v.API.Note(http.MethodPost, "query.v1", body)
	got, err := v.API.Raw(http.MethodPost, "query.v1", "application/json", body)
	if err != nil {
		return nil, 0, err
	}
	if got.Status >= http.StatusBadRequest {
		return nil, 0, got.Err()
	}
	var sets [][]row
	var pages []struct{ Total int }
	if err := json.Unmarshal(got.Body, &sets); err != nil || len(sets) != 1 {
		return nil, 0, fmt.Errorf("read %d lists of rows: %w", len(sets), err)
	}
	if err := json.Unmarshal([]byte(got.Header.Get("Alds-Result")), &pages); err != nil || len(pages) != 1 {
		return nil, 0, fmt.Errorf("read the number of rows: %w", err)
	}
	return sets[0], pages[0].Total, nil
}

// lastUses sets the last sign-in of members. It reads only the latest sign-ins of the audit, so it
// does not find earlier sign-ins.
func lastUses(v *ui.Visit, people []person) error {
	events, err := signIns(v, "page=500")
	if err != nil {
		return err
	}
	last := map[string]time.Time{}
	for _, e := range events {
		if last[e.Actor].IsZero() {
			last[e.Actor] = e.At
		}
	}
	for i := range people {
		people[i].LastUse = last[people[i].Oid]
	}
	return nil
}

// signIns reads the latest sign-ins that match some parameters of the audit, the newest first.
func signIns(v *ui.Visit, params string) ([]auditEvent, error) {
	var list struct{ Results []auditEvent }
	err := v.API.Get("api/audit?kind=SignIn&"+params, &list)
	return list.Results, err
}

// projectRoles is the answer with the roles of members. Spec: interface 4.8.
type projectRoles struct {
	Assets []struct {
		Member struct {
			Oid string `json:"oidToken"`
		} `json:"member"`
		Roles []heldRole `json:"projectRoles"`
	} `json:"assets"`
}

// heldRole is a role in a project.
type heldRole struct {
	Owner   bool     `json:"isOwner"`
	Project namedOid `json:"project"`
	Role    namedOid `json:"role"`
}

type namedOid struct {
	Oid  string `json:"oidToken"`
	Name string `json:"name"`
}

// rolesOf reads the roles of members. Key: Oid of the member; value: roles of the member.
// Errors: *ui.Error.
func rolesOf(v *ui.Visit, oids []string) (map[string][]heldRole, error) {
	all := map[string][]heldRole{}
	if len(oids) == 0 {
		return all, nil
	}
	var found projectRoles
	where := "ID='" + strings.Join(oids, "','") + "'"
	if err := v.API.Get("api/ProjectRoles/ByMember?where="+url.QueryEscape(where), &found); err != nil {
		return nil, err
	}
	for _, a := range found.Assets {
		all[a.Member.Oid] = a.Roles
	}
	return all, nil
}

// memberWords has replacements for refusals about members that ui.Readable does not word well.
var memberWords = []struct {
	form *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`^Nickname `), "The short name "},
	{regexp.MustCompile(`^(DefaultRole|Role) `), "The role "},
	{regexp.MustCompile(`^Scope `), "The project "},
	{regexp.MustCompile(`(names nothing that you see)'\w+`), "$1"},
	{regexp.MustCompile(`^Invalid OID token: (.*)`), "$1 is not there, or you do not see it"},
	{regexp.MustCompile(`^Invalid Operation '\w+\.(\w+)'`), "$1 cannot be done here"},
}

// memberRefusal returns a refusal about members in plain English.
func memberRefusal(message string) string {
	text := ui.Readable(message)
	for _, w := range memberWords {
		text = w.form.ReplaceAllString(text, w.with)
	}
	return text
}
