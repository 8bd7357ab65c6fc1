package projects

import (
	"net/http"
	"time"

	"github.com/alds-dev/alds/internal/web/ui"
)

// tab is a view of a project.
type projectTab struct{ Path, Name string }

// tabs are the views of a project: Path follows that of the project.
var tabs = []projectTab{{"", "Backlog"}, {"/board", "Board"}, {"/sprints", "Sprints"}, {"/flow", "Flow"}}

// project is what the views of a project show of it.
type project struct {
	Oid    string `json:"_oid"`
	Name   string
	State  string       `json:"AssetState"`
	Parent ui.Reference `json:"Parent"`
	Above  string       `json:"Parent.Name"`
	Made   time.Time    `json:"CreateDateUTC"`
	May    bool         `json:"CanUpdate"` // the reader may change the project
	Rhythm ui.Reference `json:"Schedule"`  // of its sprints
	Whole  []string     `json:"-"`         // the project and all below it
	Below  bool         `json:"-"`         // the view includes those
	Tab    string       `json:"-"`
	Tabs   []projectTab `json:"-"`
}

// Place is the path of a view of the project below ui.
func (p *project) Place(view string) string { return "/ui/project/" + p.Oid + view }

// BelowParam is the parameter of links that keeps what the reader has chosen.
func (p *project) BelowParam() string {
	if p.Below {
		return ""
	}
	return "0"
}

// Under is how many projects there are below it.
func (p *project) Under() int { return len(p.Whole) - 1 }

// within is the condition that work lies in what the view includes; given has the
// variable in it.
const within = "Scope=$Projects"

// given has the projects that the view includes, and pairs of further variables and
// their values.
//
// A list takes the database a fiftieth of the time of a path through the tree.
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

// maxBelow is how many projects a view includes, as many as a comparison takes values.
const maxBelow = 10000

// readProject reads the project that the path names, for one of its views. Errors:
// *ui.Error, 404 for what is no project that the reader sees.
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

// missing is the error for an Oid that leads nowhere: the interface refuses some that
// it cannot read.
func missing(err error) error {
	if refused, _ := ui.AsError(err); refused != nil && refused.Status == http.StatusBadRequest {
		return ui.NotFound()
	}
	return err
}
