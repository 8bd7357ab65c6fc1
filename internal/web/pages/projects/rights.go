package projects

import (
	"net/url"
	"slices"

	"github.com/alds-dev/alds/internal/web/ui"
)

// mine has the rights of the reader in a view of a project. Pages use it only to hide forms that
// would be refused. The interface itself checks the rights.
type mine struct {
	Changes bool // the reader can change items of the view
	Adds    bool // the reader can add items
	found   []ui.Reference
}

// ask returns a query for one item of the view that the reader can change.
func (m *mine) ask(p *project) (q ui.Query, into *[]ui.Reference) {
	return ui.Query{"from": "PrimaryWorkitem", "filter": []string{"CanUpdate='true'", within}, "with": p.given(), "page": map[string]int{"size": 1, "start": 0}}, &m.found
}

// writing are the roles that can create items: Customer and all higher roles. Spec: interface
// 5.8.1.
var writing = []string{"Role:1", "Role:2", "Role:3", "Role:4", "Role:5", "Role:6", "Role:7"}

// decide sets the rights from the result of the query that ask returned. An empty result can mean
// that the view has no items, or no items of a kind that the reader can create. So in this case,
// the reader's roles in projects decide whether the reader can add items. Errors: *ui.Error.
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
	quiet := v.Quiet() // the answer is only used here, so the footer does not show the request
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
