package projects

import (
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/alds-dev/alds/internal/chart"
	"github.com/alds-dev/alds/internal/ui"
)

// timebox is a sprint as pages read it. Its last day is the one before its end.
type timebox struct {
	Oid   string `json:"_oid"`
	Name  string
	State string `json:"AssetState"`
	Begin date   `json:"BeginDate"`
	End   date   `json:"EndDate"`
	// Sums over the project's items of the sprint; to do over all workitems.
	Items    ui.Count    `json:"Workitems:PrimaryWorkitem[Scope=$Projects;AssetState!=$Dead].@Count"`
	Estimate json.Number `json:"Workitems:PrimaryWorkitem[Scope=$Projects;AssetState!=$Dead].Estimate.@Sum"`
	Open     json.Number `json:"Workitems:PrimaryWorkitem[Scope=$Projects;AssetState=$Open].Estimate.@Sum"`
	ToDo     json.Number `json:"Workitems[Scope=$Projects;AssetState!=$Dead].ToDo.@Sum"`
}

// The tokens of the sums of a timebox.
const (
	sumItems    = "Workitems:PrimaryWorkitem[Scope=$Projects;AssetState!=$Dead].@Count"
	sumEstimate = "Workitems:PrimaryWorkitem[Scope=$Projects;AssetState!=$Dead].Estimate.@Sum"
	sumOpen     = "Workitems:PrimaryWorkitem[Scope=$Projects;AssetState=$Open].Estimate.@Sum"
	sumToDo     = "Workitems[Scope=$Projects;AssetState!=$Dead].ToDo.@Sum"
)

// date is a day as the interface writes it.
type date struct{ time.Time }

// UnmarshalJSON reads a day, of a text that begins with one; null is the zero day.
func (d *date) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil || len(text) < len(time.DateOnly) {
		return err
	}
	t, err := time.Parse(time.DateOnly, text[:len(time.DateOnly)])
	d.Time = t
	return err
}

// LastDay is the last day of the sprint.
func (t timebox) LastDay() time.Time { return t.End.AddDate(0, 0, -1) }

// sprints is what the page of a project's sprints shows.
type sprints struct {
	*project
	Sprints []timebox
	Bounded bool
}

// maxSprints is how many sprints a page lists.
const maxSprints = 100

// findTimeboxes reads sprints with the sums over what a project has of them.
func findTimeboxes(v *ui.Visit, p *project, q ui.Query) ([]timebox, error) {
	q["select"] = []string{"Name", "AssetState", "BeginDate", "EndDate", sumItems, sumEstimate, sumOpen, sumToDo}
	q["with"] = p.given("$Dead", "Dead", "$Open", "Active")
	var list []timebox
	err := v.API.Find([]ui.Query{q}, &list)
	return list, missing(err)
}

// showSprints serves GET ui/project/<oid>/sprints.
func showSprints(v *ui.Visit) error {
	p, err := readProject(v, "/sprints")
	if err != nil {
		return err
	}
	page := sprints{project: p}
	q := ui.Query{"from": "Timebox", "filter": []string{scheduled}, "sort": []string{"-EndDate"}, "page": map[string]int{"size": maxSprints + 1, "start": 0}}
	if page.Sprints, err = findTimeboxes(v, p, q); err != nil {
		return err
	}
	if page.Bounded = len(page.Sprints) > maxSprints; page.Bounded {
		page.Sprints = page.Sprints[:maxSprints]
	}
	return v.Render("sprints", p.Name+" · Sprints", page)
}

// sprint is what the page of one sprint of a project shows.
type sprint struct {
	*project
	timebox  timebox
	Items    []item
	Bounded  bool
	Max      int
	Message  string
	Drawings []drawing
}

// Sprint is the sprint.
func (s sprint) Sprint() timebox { return s.timebox }

// maxSprintDays is how many days a burndown shows at most.
const maxSprintDays = 180

// showSprint serves GET ui/project/<oid>/sprint/<timebox>: its items and its burndown.
func showSprint(v *ui.Visit) error {
	p, err := readProject(v, "/sprints")
	if err != nil {
		return err
	}
	oid := v.Request.PathValue("timebox")
	if !ui.IsOid(oid, "Timebox") {
		return ui.NotFound()
	}
	found, err := findTimeboxes(v, p, ui.Query{"from": oid})
	if err != nil {
		return err
	}
	if len(found) != 1 {
		return ui.NotFound()
	}
	page := sprint{project: p, timebox: found[0], Max: pageSize}
	q := ui.Query{
		"from": "PrimaryWorkitem", "select": itemColumns, "sort": []string{"Order"}, "page": map[string]int{"size": pageSize + 1, "start": 0},
		"filter": []string{within, "Timebox='" + oid + "'", "AssetState!='Dead'"}, "with": p.given(),
	}
	if err := v.API.Find([]ui.Query{q}, &page.Items); err != nil {
		return err
	}
	if page.Bounded = len(page.Items) > pageSize; page.Bounded {
		page.Items = page.Items[:pageSize]
	}
	page.Drawings, err = drawBurndown(v, p, page.timebox, time.Now())
	refused, err := ui.AsError(err)
	if err != nil {
		return err
	}
	if refused != nil {
		v.Status, page.Message = refused.Status, refused.Message
	}
	return v.Render("sprint", page.timebox.Name+" · "+p.Name, page)
}

// drawBurndown draws what a sprint has left at the end of each day, as far as there are
// such days; none before it begins.
func drawBurndown(v *ui.Visit, p *project, t timebox, now time.Time) ([]drawing, error) {
	if t.LastDay().Sub(t.Begin.Time) >= maxSprintDays*day {
		return nil, &ui.Error{Status: http.StatusBadRequest, Message: "The sprint is too long for a burndown."}
	}
	all := endsOfDays(t.Begin.Time, t.LastDay())
	past, _ := slices.BinarySearchFunc(all, dayOf(now).Add(day), time.Time.Compare)
	if past == 0 {
		return nil, nil
	}
	h, err := readHistory(v, p, all[:past], ui.Query{
		"from": "Workitem", "filter": []string{"Timebox='" + t.Oid + "'"},
		"select": append([]string{"ToDo", "PrimaryWorkitem.Estimate"}, versionColumns...),
	})
	if err != nil {
		return nil, err
	}
	toDo, open := left(h)
	return []drawing{
		drawLeft("todo", "To do left", "To do", toDo, all),
		drawLeft("open", "Estimates of open items", "Open", open, all),
	}, nil
}

// left sums by instant what is to do, over all workitems, and the estimates of the items
// that are not closed. What a closed workitem has left to do counts, as in AllocatedToDo.
func left(h *history) (toDo, open []float64) {
	toDo, open = make([]float64, len(h.instants)), make([]float64, len(h.instants))
	h.replay(func(i int, v *itemVersion) {
		toDo[i] += amount(v.ToDo)
		if v.State != "Closed" {
			open[i] += amount(v.Own)
		}
	})
	return toDo, open
}

// drawLeft draws a line that should reach 0, beside one that does.
func drawLeft(id, title, name string, values []float64, all []time.Time) drawing {
	known := slices.Clone(values)
	for len(known) < len(all) {
		known = append(known, math.NaN())
	}
	c := chart.Chart{
		ID: id, Title: title, Labels: labels(all),
		Series: []chart.Series{{Name: name, Values: known}, {Name: "Ideal", Dashed: true, Values: ideal(values, len(all))}},
	}
	c.Description = chart.Number(values[len(values)-1]) + " at the end of " + c.Labels[len(values)-1] + ", " + chart.Number(values[0]) + " at the end of " + c.Labels[0] + ". The numbers stand in the table below."
	return numbered(c, chart.Lines(c))
}

// ideal falls by the same each day to 0 on the last of the days, from the first value
// that is above it. Before that there is none.
func ideal(values []float64, days int) []float64 {
	line := make([]float64, days)
	begin := max(0, slices.IndexFunc(values, func(v float64) bool { return v > 0 }))
	for i := range line {
		switch {
		case i < begin:
			line[i] = math.NaN()
		case days-1 > begin:
			line[i] = values[begin] * float64(days-1-i) / float64(days-1-begin)
		}
	}
	return line
}
