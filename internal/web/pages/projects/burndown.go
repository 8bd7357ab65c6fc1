package projects

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/web/chart"
	"github.com/alds-dev/alds/internal/web/ui"
)

// burndown has the sums and drawings of a sprint. They take longer to read than a thousand
// items, so the script requests them after the page is shown.
type burndown struct {
	Known    bool // false: only a placeholder
	Sums     []figure
	Drawings []drawing
	Message  string
}

// figure is a sum with its label.
type figure struct{ Name, Value string }

// Titles of the drawings.
const (
	toDoLeft = "To do left"
	openLeft = "Estimates of open items"
)

// blank returns the placeholder of a burndown.
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

// showBurndown serves GET ui/project/<oid>/sprint/<timebox>/burndown. The script inserts the
// answer into the page of the sprint, including a refusal.
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
	small := v.IsPart() && v.Param("small") != "" // for the first page, which shows several sprints
	mark := ""
	if small {
		mark = lettersOf(oid)
	}
	page.Burndown.Drawings, err = drawBurndown(v, p, page.Sprint, time.Now(), mark)
	refused, err := ui.AsError(err)
	switch {
	case err != nil:
		return err
	case refused != nil:
		page.Burndown.Message = refused.Message
	}
	if small {
		page.Burndown.Drawings = smallOf(page.Burndown.Drawings)
		return v.RenderPart("burndown", "small", &page)
	}
	if v.IsPart() {
		return v.RenderPart("burndown", "part", &page)
	}
	if refused != nil {
		v.Status = refused.Status
	}
	return v.Render("burndown", "Burndown · "+page.Sprint.Name+" · "+p.Name, &page)
}

// smallOf returns the drawing that is shown where there is room for only one: the work to do, or the estimates of
// open items if nobody enters the work to do.
func smallOf(all []drawing) []drawing {
	for _, d := range all {
		if d.Any {
			return []drawing{d}
		}
	}
	return nil
}

// lettersOf writes the digits of an Oid as letters, for an id of a drawing.
func lettersOf(oid string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r - '0' + 'a'
	}, oid)
}

// maxSprintDays limits the days of a burndown.
const maxSprintDays = 180

// daysOf returns the ends of all days of a sprint, and the number of days up to today. Errors:
// *ui.Error.
func daysOf(t timebox, now time.Time) (all []time.Time, past int, err error) {
	if t.LastDay().Sub(t.Begin.Time) >= maxSprintDays*day {
		return nil, 0, &ui.Error{Status: http.StatusBadRequest, Message: "The sprint is too long for a burndown."}
	}
	all = endsOfDays(t.Begin.Time, t.LastDay())
	past, _ = slices.BinarySearchFunc(all, dayOf(now).Add(day), time.Time.Compare)
	return all, past, nil
}

// drawBurndown draws the remaining work at the end of each day up to today. It returns nil
// before the sprint begins. The mark tells apart the drawings of several sprints on one page; it is empty if the
// page has only one sprint.
func drawBurndown(v *ui.Visit, p *project, t timebox, now time.Time, mark string) ([]drawing, error) {
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
		drawLeft("todo", mark, toDoLeft, "To do", toDo, all),
		drawLeft("open", mark, openLeft, "Open", open, all),
	}, nil
}

// left returns two sums for each instant: the ToDo of all workitems, and the estimates of the items
// that are not closed. The ToDo of closed workitems counts, as in AllocatedToDo.
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

// drawLeft draws the remaining work with an ideal line that falls to 0.
func drawLeft(id, mark, title, name string, values []float64, all []time.Time) drawing {
	known := slices.Clone(values)
	for len(known) < len(all) {
		known = append(known, math.NaN())
	}
	c := chart.Chart{
		ID: id + mark, Title: title, Labels: labels(all),
		Series: []chart.Series{{Name: name, Values: known}, {Name: "Ideal", Dashed: true, Values: ideal(values, len(all))}},
	}
	c.Description = chart.Number(values[len(values)-1]) + " at the end of " + c.Labels[len(values)-1] + ", " + chart.Number(values[0]) + " at the end of " + c.Labels[0] + "."
	if mark == "" {
		c.Description += " The numbers stand in the table below."
	}
	d := numbered(c, chart.Lines(c))
	d.Any = slices.Max(values) > 0
	return d
}

// ideal returns a line that falls by equal steps to 0 on the last day. It starts at the first
// value above 0 and is NaN before.
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
