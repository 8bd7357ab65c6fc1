package projects

import (
	"encoding/json"
	"net/url"
	"time"

	"github.com/alds-dev/alds/internal/web/chart"
	"github.com/alds-dev/alds/internal/web/ui"
)

// timebox is a sprint as pages read it. End is the day after the last day.
type timebox struct {
	Oid   string `json:"_oid"`
	Name  string
	State string `json:"AssetState"`
	Begin date   `json:"BeginDate"`
	End   date   `json:"EndDate"`
}

// timeboxColumns are the attributes that pages select of sprints.
var timeboxColumns = []string{"Name", "AssetState", "BeginDate", "EndDate"}

// summed is a sprint with sums over its items in the project. ToDo also includes the tasks and
// tests of the sprint.
type summed struct {
	timebox
	Items    ui.Count `json:"Workitems:PrimaryWorkitem[Scope=$Projects;AssetState!=$Dead].@Count"`
	Estimate sum      `json:"Workitems:PrimaryWorkitem[Scope=$Projects;AssetState!=$Dead].Estimate.@Sum"`
	Open     sum      `json:"Workitems:PrimaryWorkitem[Scope=$Projects;AssetState=$Open].Estimate.@Sum"`
	ToDo     sum      `json:"Workitems[Scope=$Projects;AssetState!=$Dead].ToDo.@Sum"`
}

// Tokens of the sums of a timebox.
const (
	sumItems    = "Workitems:PrimaryWorkitem[Scope=$Projects;AssetState!=$Dead].@Count"
	sumEstimate = "Workitems:PrimaryWorkitem[Scope=$Projects;AssetState!=$Dead].Estimate.@Sum"
	sumOpen     = "Workitems:PrimaryWorkitem[Scope=$Projects;AssetState=$Open].Estimate.@Sum"
	sumToDo     = "Workitems[Scope=$Projects;AssetState!=$Dead].ToDo.@Sum"
)

// sum is a computed sum as the interface returns it, possibly 0.30000000000000004.
type sum string

// String returns the rounded sum.
func (s sum) String() string { return chart.Number(amount(json.Number(s))) }

// date is a day as the interface writes it.
type date struct{ time.Time }

// UnmarshalJSON decodes a text that starts with a date. null and shorter texts become the zero
// date.
func (d *date) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil || len(text) < len(time.DateOnly) {
		return err
	}
	t, err := time.Parse(time.DateOnly, text[:len(time.DateOnly)])
	d.Time = t
	return err
}

// LastDay returns the last day of the sprint.
func (t timebox) LastDay() time.Time { return t.End.AddDate(0, 0, -1) }

// sprints is the data of the page with the sprints of a project.
type sprints struct {
	*project
	Sprints []summed
	Bounded bool
	New     string // link that creates a sprint
}

// maxSprints limits the sprints on a page.
const maxSprints = 100

// findTimeboxes reads sprints with the sums over their items in the project.
func findTimeboxes(v *ui.Visit, p *project, q ui.Query) ([]summed, error) {
	q["select"] = append([]string{sumItems, sumEstimate, sumOpen, sumToDo}, timeboxColumns...)
	q["with"] = p.given("$Dead", "Dead", "$Open", "Active")
	var list []summed
	err := v.API.Find([]ui.Query{q}, &list)
	return list, missing(err)
}

// showSprints serves GET ui/project/<oid>/sprints.
func showSprints(v *ui.Visit) error {
	p, err := readProject(v, "/sprints")
	if err != nil {
		return err
	}
	page := sprints{project: p, New: makingSprint(v, p.Oid)}
	q := ui.Query{"from": "Timebox", "filter": []string{scheduled}, "sort": []string{"-EndDate"}, "page": map[string]int{"size": maxSprints + 1, "start": 0}}
	if page.Sprints, err = findTimeboxes(v, p, q); err != nil {
		return err
	}
	if page.Bounded = len(page.Sprints) > maxSprints; page.Bounded {
		page.Sprints = page.Sprints[:maxSprints]
	}
	return v.Render("sprints", p.Name+" · Sprints", page)
}

// sprint is the data of the pages of one sprint.
type sprint struct {
	*project
	Sprint   timebox
	Items    []item
	Bounded  bool
	Max      int
	Burndown burndown
	Adding   bool // an item was just added: the line for the next one has the focus
}

// View returns the path of a view of the sprint, below the base.
func (s *sprint) View(view string) string {
	path := s.Place("/sprint/" + s.Sprint.Oid + view)
	if s.Below {
		return path
	}
	return path + "?below=" + s.BelowParam()
}

// Context returns the parameters with which the form of a new item is filled in.
func (s *sprint) Context() string {
	return url.Values{"scope": {s.Oid}, "sprint": {s.Sprint.Oid}, "return": {ui.Link("", s.Place("/sprint/"+s.Sprint.Oid), "add", "1")}}.Encode()
}

// NewItem returns the path of the form of a new item in the sprint, below the base.
func (s *sprint) NewItem() string { return "/ui/new/Story?" + s.Context() }

// showSprint serves GET ui/project/<oid>/sprint/<timebox>: its items and a placeholder of its
// burndown.
func showSprint(v *ui.Visit) error {
	p, err := readProject(v, "/sprints")
	if err != nil {
		return err
	}
	oid := v.Request.PathValue("timebox")
	if !ui.IsOid(oid, "Timebox") {
		return ui.NotFound()
	}
	var found []timebox
	page := sprint{project: p, Max: pageSize, Adding: v.Param("add") != ""}
	err = v.API.Find([]ui.Query{{"from": oid, "select": timeboxColumns}, {
		"from": "PrimaryWorkitem", "select": itemColumns, "sort": []string{"Order"}, "page": map[string]int{"size": pageSize + 1, "start": 0},
		"filter": []string{within, "Timebox='" + oid + "'", "AssetState!=$Dead"}, "with": p.given("$Dead", "Dead"),
	}}, &found, &page.Items)
	if err != nil {
		return missing(err)
	}
	if len(found) != 1 {
		return ui.NotFound()
	}
	page.Sprint, page.Burndown = found[0], blank(found[0], time.Now())
	if page.Bounded = len(page.Items) > pageSize; page.Bounded {
		page.Items = page.Items[:pageSize]
	}
	return v.Render("sprint", page.Sprint.Name+" · "+p.Name, &page)
}
