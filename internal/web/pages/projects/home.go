package projects

import (
	"github.com/alds-dev/alds/internal/web/ui"
)

// maxProjects limits the projects in the tree.
const maxProjects = 2000

// projectRow is a project as the tree reads it.
type projectRow struct {
	Oid    string `json:"_oid"`
	Name   string
	State  string       `json:"AssetState"`
	Parent ui.Reference `json:"Parent"`
	Open   ui.Count     `json:"Workitems:PrimaryWorkitem[AssetState=$Open].@Count"`
}

// branch is a project in the tree with its child projects.
type branch struct {
	projectRow
	Below []*branch
	Depth int
}

// tree is the data of the page of projects.
type tree struct {
	Find    string
	Closed  bool
	Roots   []*branch
	Bounded bool // there are more projects than maxProjects
	Greets  bool // show a link to the welcome page
	Max     int
	New     string // link that creates a project; empty: the reader may not create one
}

// home serves GET ui/projects: the projects that the reader sees.
func home(v *ui.Visit) error {
	page := tree{Find: v.Param("find"), Closed: v.Param("closed") != "", Max: maxProjects}
	q := ui.Query{
		"from": "Scope", "sort": []string{"Name"}, "page": map[string]int{"size": maxProjects + 1, "start": 0},
		"select": []string{"Name", "AssetState", "Parent", "Workitems:PrimaryWorkitem[AssetState=$Open].@Count"},
		"with":   map[string]any{"$Open": []string{"Active"}},
	}
	if !page.Closed { // a filter on AssetState would also find projects below deleted projects
		q["filter"] = []string{"IsClosed='false'"}
	}
	if page.Find != "" {
		q["find"], q["findin"] = page.Find, []string{"Name"}
	}
	var rows []projectRow
	if err := v.API.Find([]ui.Query{q}, &rows); err != nil {
		return err
	}
	if page.Bounded = len(rows) > maxProjects; page.Bounded {
		rows = rows[:maxProjects]
	}
	page.Roots = branches(rows)
	page.Greets = v.Site.Greets && v.Member.Administers()
	if v.Member.Administers() {
		page.New = makingProject(v, "Scope:0")
	}
	if v.IsPart() {
		return v.RenderPart("home", "tree", page)
	}
	return v.Render("home", "Projects", page)
}

// branches puts projects below their parents. Projects whose parent is not in the rows become
// roots. The order of the rows is kept.
func branches(rows []projectRow) []*branch {
	byOid := make(map[string]*branch, len(rows))
	for _, r := range rows {
		byOid[r.Oid] = &branch{projectRow: r}
	}
	var roots []*branch
	for _, r := range rows {
		b := byOid[r.Oid]
		if parent := byOid[r.Parent.Oid]; parent != nil && parent != b {
			parent.Below = append(parent.Below, b)
		} else {
			roots = append(roots, b)
		}
	}
	deepen(roots, 0)
	return roots
}

func deepen(list []*branch, depth int) {
	for _, b := range list {
		b.Depth = depth
		deepen(b.Below, depth+1)
	}
}
