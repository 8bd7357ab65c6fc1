package pages

import "net/http"

// maxProjects is how many projects the tree shows at most.
const maxProjects = 2000

// projectRow is a project as the tree reads it.
type projectRow struct {
	Oid    string `json:"_oid"`
	Name   string
	State  string    `json:"AssetState"`
	Parent reference `json:"Parent"`
	Open   count     `json:"Workitems:PrimaryWorkitem[AssetState='Active'].@Count"`
}

// branch is a project of the tree with those below it.
type branch struct {
	projectRow
	Below []*branch
	Depth int
}

// tree is what the first page shows.
type tree struct {
	Find    string
	Closed  bool
	Roots   []*branch
	Bounded bool // there are more projects
	Max     int
}

// home serves GET ui/ and ui/projects: the projects that the reader sees.
func home(v *visit) error {
	page := tree{Find: v.param("find"), Closed: v.param("closed") != "", Max: maxProjects}
	q := query{
		"from": "Scope", "sort": []string{"Name"}, "page": map[string]int{"size": maxProjects + 1, "start": 0},
		"select": []string{"Name", "AssetState", "Parent", "Workitems:PrimaryWorkitem[AssetState='Active'].@Count"},
	}
	if !page.Closed {
		q["filter"] = []string{"AssetState='Active'"}
	}
	if page.Find != "" {
		q["find"], q["findin"] = page.Find, []string{"Name"}
	}
	var rows []projectRow
	if err := v.api.find([]query{q}, &rows); err != nil {
		return err
	}
	if page.Bounded = len(rows) > maxProjects; page.Bounded {
		rows = rows[:maxProjects]
	}
	page.Roots = branches(rows)
	if v.isPart() {
		return v.renderPart("home", "tree", page)
	}
	return v.render("home", "Projects", page)
}

// branches puts projects below their parents; those whose parent is not among them are
// the roots. The order of rows stays.
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

// tab is a view of a project.
type tab struct{ Path, Name string }

// tabs are the views of a project: Path follows that of the project.
var tabs = []tab{{"", "Backlog"}, {"/board", "Board"}, {"/sprints", "Sprints"}, {"/flow", "Flow"}}

// project is what the views of a project show of it.
type project struct {
	Oid      string `json:"_oid"`
	Name     string
	State    string      `json:"AssetState"`
	Parent   reference   `json:"Parent"`
	Above    string      `json:"Parent.Name"`
	Children []reference `json:"Children"`
	Below    bool        `json:"-"` // the view includes the projects below it
	Tab      string      `json:"-"`
	Tabs     []tab       `json:"-"`
}

// Place is the path of a view of the project below ui.
func (p *project) Place(view string) string { return "/ui/project/" + p.Oid + view }

// BelowParam is the parameter of links that keeps what the reader has chosen.
func (p *project) BelowParam() string {
	if p.Below || len(p.Children) == 0 {
		return ""
	}
	return "0"
}

// within is the condition that work lies in the project, or below it.
func (p *project) within() string {
	if p.Below {
		return "Scope.ParentMeAndUp='" + p.Oid + "'"
	}
	return "Scope='" + p.Oid + "'"
}

// project reads the project that the path names, for one of its views. Errors:
// *failure, 404 for what is no project that the reader sees.
func (v *visit) project(view string) (*project, error) {
	oid := v.r.PathValue("oid")
	if !isOid(oid, "Scope") {
		return nil, notFound()
	}
	var found []project
	q := query{"from": oid, "select": []string{"Name", "AssetState", "Parent", "Parent.Name", "Children"}}
	if err := v.api.find([]query{q}, &found); err != nil {
		return nil, missing(err)
	}
	if len(found) != 1 {
		return nil, notFound()
	}
	p := &found[0]
	p.Tab, p.Tabs = view, tabs
	p.Below = len(p.Children) > 0 && v.param("below") != "0"
	return p, nil
}

// missing is the error for an Oid that leads nowhere: the interface refuses some that
// it cannot read.
func missing(err error) error {
	if refused, _ := asFailure(err); refused != nil && refused.Status == http.StatusBadRequest {
		return notFound()
	}
	return err
}
