package projects

import (
	"net/url"
	"slices"

	"github.com/alds-dev/alds/internal/web/ui"
)

// mine is what the reader may do in a view of a project: forms that would be refused
// are not shown. What is done, the interface decides.
type mine struct {
	Changes bool // items of the view
	Adds    bool // items
	found   []ui.Reference
}

// ask asks for an item of the view that the reader may change.
func (m *mine) ask(p *project) (q ui.Query, into *[]ui.Reference) {
	return ui.Query{"from": "PrimaryWorkitem", "filter": []string{"CanUpdate='true'", within}, "with": p.given(), "page": map[string]int{"size": 1, "start": 0}}, &m.found
}

// writing are the roles that may make items, Customer and those above it. Spec:
// interface 5.8.1.
var writing = []string{"Role:1", "Role:2", "Role:3", "Role:4", "Role:5", "Role:6", "Role:7"}

// decide tells what the answer means. Where no item may be changed there may be none, or
// none of a kind that the reader may make; so the roles decide that it has in projects.
// Errors: *ui.Error.
func (m *mine) decide(v *ui.Visit) error {
	m.Changes = len(m.found) > 0
	m.Adds = m.Changes || v.Member.Administers()
	if m.Adds {
		return nil
	}
	var held struct {
		Assets []struct {
			Roles []struct {
				Role struct {
					Oid string `json:"oidToken"`
				} `json:"role"`
			} `json:"projectRoles"`
		} `json:"assets"`
	}
	quiet := v.Quiet() // it shows nothing
	if err := quiet.Get("api/ProjectRoles/ByMember?where="+url.QueryEscape("ID='"+v.Member.Oid+"'"), &held); err != nil {
		return err
	}
	for _, a := range held.Assets {
		for _, r := range a.Roles {
			m.Adds = m.Adds || slices.Contains(writing, r.Role.Oid)
		}
	}
	return nil
}
