package projects

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/alds-dev/alds/internal/web/chart"
	"github.com/alds-dev/alds/internal/web/ui"
)

// total is the number of items that match the filter of a backlog, and the sum of their estimates.
type total struct {
	Items  int
	Points float64
}

// Text returns the total for people.
func (t total) Text() string {
	text := ui.Counted(t.Items, "item", "items")
	if t.Points == 0 {
		return text
	}
	points := chart.Number(t.Points)
	if whole := int(t.Points); float64(whole) == t.Points {
		points = ui.Thousands(whole)
	}
	return text + " · " + points + " points"
}

// sum sets the total. The rows of the page are enough for it unless there are further pages. Errors:
// *ui.Error.
func (b *backlog) sum(v *ui.Visit) error {
	if !b.More && b.Filter.Page == 1 {
		b.Total.Items = len(b.Items)
		for _, i := range b.Items {
			b.Total.Points += amount(i.Estimate)
		}
		return nil
	}
	var rows []map[string]any
	q, count, points := b.Filter.sums(b.project)
	if err := v.API.Find([]ui.Query{q}, &rows); err != nil {
		return err
	}
	for _, r := range rows {
		b.Total.Items += int(amount(number(r[count])))
		b.Total.Points += amount(number(r[points]))
	}
	return nil
}

// number returns a number of an answer, which the interface may write as a text. null is "".
func number(v any) json.Number {
	if v == nil {
		return ""
	}
	return json.Number(fmt.Sprint(v))
}

// sums returns the query for the total of a filter: a row for each project of the view. count and points
// are the names of its columns.
func (f filter) sums(p *project) (q ui.Query, count, points string) {
	from, conditions := f.matching()
	with := p.given()
	if f.Owner != "" && f.Owner != none {
		with["$Owner"] = []string{f.Owner}
	}
	if f.Find != "" {
		conditions = append(conditions, "(Name~=$Find|Number~=$Find|Reference~=$Find)")
		with["$Find"] = []string{f.Find}
	}
	items := "Workitems:" + from + "[" + strings.Join(conditions, ";") + "]"
	count, points = items+".@Count", items+".Estimate.@Sum"
	return ui.Query{"from": "Scope", "select": []string{count, points}, "filter": []string{"ID=$Projects"}, "with": with}, count, points
}
