package projects

import (
	"net/http"
	"time"

	"github.com/alds-dev/alds/internal/web/ui"
)

// projectTab is a view of a project.
type projectTab struct{ Path, Name string }

// tabs are the views of a project. Path is appended to the path of the project.
var tabs = []projectTab{{"", "Backlog"}, {"/board", "Board"}, {"/sprints", "Sprints"}, {"/flow", "Flow"}, {"/proposals", "Proposals"}}

// project is the data of a project that all its views show.
type project struct {
	Oid    string `json:"_oid"`
	Name   string
	State  string       `json:"AssetState"`
	Parent ui.Reference `json:"Parent"`
	Above  string       `json:"Parent.Name"`
	Made   time.Time    `json:"CreateDateUTC"`
	May    bool         `json:"CanUpdate"` // the reader may change the project
	Rhythm ui.Reference `json:"Schedule"`  // schedule of its sprints
	Whole  []string     `json:"-"`         // the project and all its descendants
	Below  bool         `json:"-"`         // the view includes the descendants
	Tab    string       `json:"-"`
	Tabs   []projectTab `json:"-"`
}

// Place returns the path of a view of the project, below the base.
func (p *project) Place(view string) string { return "/ui/project/" + p.Oid + view }

// BelowParam returns the parameter that keeps the reader's choice of Below in links.
func (p *project) BelowParam() string {
	if p.Below {
		return ""
	}
	return "0"
}

// Under returns the number of descendants.
func (p *project) Under() int { return len(p.Whole) - 1 }

// within is the filter for workitems in the projects of the view. The method given returns the
// variable $Projects.
const within = "Scope=$Projects"

// given returns the variables of a query: the projects of the view, and pairs of name and
// value.
//
// With a list of projects, the database needs only a fiftieth of the time that a path through
// the tree would need.
func (p *project) given(pairs ...string) map[string]any {
	with := map[string]any{"$Projects": []string{p.Oid}}
	if p.Below {
		with["$Projects"] = p.Whole
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		with[pairs[i]] = []string{pairs[i+1]}
	}
	return with
}

// maxBelow limits the projects of a view. A filter term can have this many values.
const maxBelow = 10000

// readProject reads the project of the path, for one of its views. Errors: *ui.Error, 404 if
// the reader sees no such project.
func readProject(v *ui.Visit, view string) (*project, error) {
	oid := v.Request.PathValue("oid")
	if !ui.IsOid(oid, "Scope") {
		return nil, ui.NotFound()
	}
	var found []project
	var whole []ui.Reference
	err := v.API.Find([]ui.Query{
		{"from": oid, "select": []string{"Name", "AssetState", "Parent", "Parent.Name", "CreateDateUTC", "CanUpdate", "Schedule"}},
		{"from": "Scope", "where": map[string]string{"ParentMeAndUp": oid}, "page": map[string]int{"size": maxBelow, "start": 0}},
	}, &found, &whole)
	if err != nil {
		return nil, missing(err)
	}
	if len(found) != 1 {
		return nil, ui.NotFound()
	}
	p := &found[0]
	p.Tab, p.Tabs = view, tabs
	for _, one := range whole {
		p.Whole = append(p.Whole, one.Oid)
	}
	p.Below = v.Param("below") != "0"
	return p, nil
}

// missing returns a 404 if the interface refused an Oid with 400. Other errors stay unchanged.
func missing(err error) error {
	if refused, _ := ui.AsError(err); refused != nil && refused.Status == http.StatusBadRequest {
		return ui.NotFound()
	}
	return err
}
