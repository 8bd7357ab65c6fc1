package home

import "github.com/alds-dev/alds/internal/web/ui"

// maxOpen limits the items of the page with all open items of a member.
const maxOpen = 500

// open is the data of the page with all open items of a member.
type open struct {
	Name   string
	Own    bool // the member is the reader
	Groups []group
	More   bool // there are more items than maxOpen
	Max    int
}

// showOpen serves GET ui/open?owner=<Oid>: the open items of a member in all projects. Without an owner, they are
// those of the reader.
func showOpen(v *ui.Visit) error {
	owner := v.Param("owner")
	if owner == "" {
		owner = v.Member.Oid
	}
	if !ui.IsOid(owner, "Member") {
		return ui.NotFound()
	}
	page := open{Own: owner == v.Member.Oid, Max: maxOpen}
	var members []ui.Named
	var items []item
	err := v.API.Find([]ui.Query{
		{"from": "Member", "select": []string{"Name"}, "filter": []string{"ID=$Me"}, "with": map[string]any{"$Me": []string{owner}}, "page": first(1)},
		{
			"from": "Workitem", "select": itemColumns, "filter": []string{ownedOpen}, "page": first(maxOpen + 1),
			"with": map[string]any{"$Me": []string{owner}, "$Open": []string{"Active", "Future"}, "$Types": ownedTypes},
			"sort": []string{"Scope.Name", "Scope", "-Timebox.AssetState", "Timebox", "Order"},
		},
	}, &members, &items)
	if err != nil {
		return err
	}
	if len(members) != 1 {
		return ui.NotFound()
	}
	page.Name = members[0].Name
	if page.More = len(items) > maxOpen; page.More {
		items = items[:maxOpen]
	}
	page.Groups = groups(items)
	return v.Render("open", "Open items of "+page.Name, &page)
}
