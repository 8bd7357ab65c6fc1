package projects

import (
	"html/template"
	"strconv"
	"time"

	"github.com/alds-dev/alds/internal/web/chart"
	"github.com/alds-dev/alds/internal/web/ui"
)

// flowDays is the default number of days in a flow, and maxFlowDays is the maximum.
const (
	flowDays    = 30
	maxFlowDays = 180
)

// flow is the data of the page with the cumulative flow of a project.
type flow struct {
	*project
	First, Last time.Time
	Days        int
	MaxDays     int
	Message     string
	Drawings    []drawing
}

// drawing is a chart with a table of its numbers.
type drawing struct {
	Name  string
	SVG   template.HTML
	Head  []string // header of the table, without the column for the day
	Lines []line
	Any   bool // one of the numbers is above 0; set only for burndowns
}

// line is a row of the table of a chart.
type line struct {
	Day    string
	Values []string
}

// showFlow serves GET ui/project/<oid>/flow: the items by status at the end of each day.
func showFlow(v *ui.Visit) error {
	p, err := readProject(v, "/flow")
	if err != nil {
		return err
	}
	page := flow{project: p, MaxDays: maxFlowDays}
	if page.First, page.Last, err = readDays(v, time.Now()); err != nil {
		return err
	}
	instants := endsOfDays(page.First, page.Last)
	page.Days = len(instants)
	var statuses []ui.Named
	h, err := readHistory(v, p, instants, ui.Query{"from": "PrimaryWorkitem", "select": append([]string{"Status", "Estimate"}, versionColumns...)})
	if err == nil {
		err = v.API.Find([]ui.Query{{"from": "StoryStatus", "select": []string{"Name"}, "filter": []string{"AssetState>='0'"}, "sort": []string{"Order"}}}, &statuses)
	}
	if refused, err := ui.AsError(err); err != nil {
		return err
	} else if refused != nil {
		v.Status, page.Message = refused.Status, refused.Message
		return v.Render("flow", p.Name+" · Flow", page)
	}
	page.Drawings = drawFlow(h, bandsOf(h, statuses))
	return v.Render("flow", p.Name+" · Flow", page)
}

// readDays parses the first and last day in the URL. By default it returns the latest days.
// Errors: *ui.Error, 400.
func readDays(v *ui.Visit, now time.Time) (first, last time.Time, err error) {
	today := dayOf(now)
	if last, err = dayParam(v, "to", today); err != nil {
		return first, last, err
	}
	if last.After(today) {
		last = today
	}
	if first, err = dayParam(v, "from", last.AddDate(0, 0, 1-flowDays)); err != nil {
		return first, last, err
	}
	switch n := int(last.Sub(first)/day) + 1; {
	case n < 1:
		err = unreadable("from", "a day before the last one, and before tomorrow")
	case n > maxFlowDays:
		err = unreadable("from", "a day at most "+strconv.Itoa(maxFlowDays)+" days before the last one")
	}
	return first, last, err
}

func dayParam(v *ui.Visit, name string, otherwise time.Time) (time.Time, error) {
	text := v.Param(name)
	if text == "" {
		return otherwise, nil
	}
	t, err := time.Parse(time.DateOnly, text)
	if err != nil || t.Before(firstDay) {
		return t, unreadable(name, "a day such as 2026-01-31")
	}
	return t, nil
}

const day = 24 * time.Hour

// firstDay is the earliest day that a flow can show.
var firstDay = time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)

// dayOf returns the start of the day of an instant, in UTC.
func dayOf(t time.Time) time.Time { return t.UTC().Truncate(day) }

// endsOfDays returns the last millisecond of each day from first to last. The interface
// distinguishes instants by milliseconds.
func endsOfDays(first, last time.Time) []time.Time {
	var ends []time.Time
	for d := first; !d.After(last); d = d.Add(day) {
		ends = append(ends, d.Add(day-time.Millisecond))
	}
	return ends
}

// band has the numbers of the items with one status.
type band struct {
	Name             string
	Count, Estimates []float64 // one number for each instant
}

// closedBand is the key of the band for closed items, whatever their status is.
const closedBand = "closed"

// bandsOf returns one band for each status. The last status comes first, so that finished
// items are at the bottom of the chart.
func bandsOf(h *history, statuses []ui.Named) []band {
	byKey := map[string]*band{}
	h.replay(func(i int, v *itemVersion) {
		key := v.Status.Oid
		if v.State == "Closed" {
			key = closedBand
		}
		b := byKey[key]
		if b == nil {
			b = &band{Count: make([]float64, len(h.instants)), Estimates: make([]float64, len(h.instants))}
			byKey[key] = b
		}
		b.Count[i]++
		b.Estimates[i] += amount(v.Estimate)
	})
	var bands []band
	take := func(key, name string) {
		if b := byKey[key]; b != nil {
			b.Name = name
			bands = append(bands, *b)
		}
	}
	take(closedBand, "Closed")
	for i := len(statuses) - 1; i >= 0; i-- {
		take(statuses[i].Oid, statuses[i].Name)
	}
	take(ui.NoAsset, "No status")
	return bands
}

// drawFlow draws the bands twice: by number of items and by sum of estimates.
func drawFlow(h *history, bands []band) []drawing {
	items := chart.Chart{ID: "items", Title: "Number of items by status", Labels: labels(h.instants)}
	points := chart.Chart{ID: "estimates", Title: "Sum of estimates by status", Labels: items.Labels}
	for _, b := range bands {
		items.Series = append(items.Series, chart.Series{Name: b.Name, Values: b.Count})
		points.Series = append(points.Series, chart.Series{Name: b.Name, Values: b.Estimates})
	}
	var list []drawing
	for _, c := range []chart.Chart{items, points} {
		c.Description = "A band for each status over the days from " + c.Labels[0] + " to " + c.Labels[len(c.Labels)-1] + ". The numbers stand in the table below."
		list = append(list, numbered(c, chart.Stack(c)))
	}
	return list
}

func labels(instants []time.Time) []string {
	list := make([]string, len(instants))
	for i, t := range instants {
		list[i] = t.UTC().Format(time.DateOnly)
	}
	return list
}

// numbered returns a drawing with the numbers of its chart.
func numbered(c chart.Chart, svg template.HTML) drawing {
	d := drawing{Name: c.Title, SVG: svg}
	for _, s := range c.Series {
		d.Head = append(d.Head, s.Name)
	}
	for i, label := range c.Labels {
		l := line{Day: label}
		for _, s := range c.Series {
			l.Values = append(l.Values, chart.Number(s.Values[i]))
		}
		d.Lines = append(d.Lines, l)
	}
	return d
}

// Earlier returns the link to the previous days, or "" if the project did not exist then.
func (f flow) Earlier() string {
	made := dayOf(f.Made)
	if made.Before(firstDay) {
		made = firstDay
	}
	if !f.First.After(made) {
		return ""
	}
	first, last := f.First.AddDate(0, 0, -f.Days), f.First.AddDate(0, 0, -1)
	if first.Before(made) {
		first = made
	}
	return ui.Link("", "", "from", first.Format(time.DateOnly), "to", last.Format(time.DateOnly), "below", f.BelowParam())
}
