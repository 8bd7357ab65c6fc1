package projects

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/alds-dev/alds/internal/web/chart"
	"github.com/alds-dev/alds/internal/web/ui"
)

// burndown is what is summed up and drawn of a sprint. It takes longer than a thousand
// items, so the script asks for it after them.
type burndown struct {
	Known    bool // else its place is kept
	Sums     []figure
	Drawings []drawing
	Message  string
}

// figure is a sum and its name.
type figure struct{ Name, Value string }

// The names of its drawings.
const (
	toDoLeft = "To do left"
	openLeft = "Estimates of open items"
)

// blank is the place of a burndown.
func blank(t timebox, now time.Time) burndown {
	b := burndown{Sums: figures("…", "…", "…", "…")}
	if _, past, err := daysOf(t, now); err == nil && past > 0 {
		for _, name := range []string{toDoLeft, openLeft} {
			b.Drawings = append(b.Drawings, drawing{Name: name, SVG: chart.Blank(2)})
		}
	}
	return b
}

func figures(items, estimate, open, toDo string) []figure {
	return []figure{{"Items", items}, {"Estimate", estimate}, {"Open estimate", open}, {"To do", toDo}}
}

// showBurndown serves GET ui/project/<oid>/sprint/<timebox>/burndown. The script puts it
// into the page of the sprint, where a refusal has its place as well.
func showBurndown(v *ui.Visit) error {
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
	one := found[0]
	page := sprint{project: p, Sprint: one.timebox, Burndown: burndown{
		Known: true, Sums: figures(strconv.Itoa(int(one.Items)), one.Estimate.String(), one.Open.String(), one.ToDo.String()),
	}}
	page.Burndown.Drawings, err = drawBurndown(v, p, page.Sprint, time.Now())
	refused, err := ui.AsError(err)
	switch {
	case err != nil:
		return err
	case refused != nil:
		page.Burndown.Message = refused.Message
	}
	if v.IsPart() {
		return v.RenderPart("burndown", "part", &page)
	}
	if refused != nil {
		v.Status = refused.Status
	}
	return v.Render("burndown", "Burndown · "+page.Sprint.Name+" · "+p.Name, &page)
}

// maxSprintDays is how many days a burndown shows at most.
const maxSprintDays = 180

// daysOf are the ends of the days of a sprint, and how many of them are over, or today.
// Errors: *ui.Error.
func daysOf(t timebox, now time.Time) (all []time.Time, past int, err error) {
	if t.LastDay().Sub(t.Begin.Time) >= maxSprintDays*day {
		return nil, 0, &ui.Error{Status: http.StatusBadRequest, Message: "The sprint is too long for a burndown."}
	}
	all = endsOfDays(t.Begin.Time, t.LastDay())
	past, _ = slices.BinarySearchFunc(all, dayOf(now).Add(day), time.Time.Compare)
	return all, past, nil
}

// drawBurndown draws what a sprint has left at the end of each day, as far as there are
// such days; none before it begins.
func drawBurndown(v *ui.Visit, p *project, t timebox, now time.Time) ([]drawing, error) {
	all, past, err := daysOf(t, now)
	if err != nil || past == 0 {
		return nil, err
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
		drawLeft("todo", toDoLeft, "To do", toDo, all),
		drawLeft("open", openLeft, "Open", open, all),
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
