package projects

import (
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/alds-dev/alds/internal/web/chart"
	"github.com/alds-dev/alds/internal/web/ui"
)

// maxCards limits the cards of a board.
const maxCards = 1000

// board is the data of the board page.
type board struct {
	*project
	Filter  filter
	Lanes   []lane
	Bounded bool
	Max     int
	Message string
	Return  string
	choices
	mine
}

// lane is a column of the board.
type lane struct {
	Oid     string // Oid of the status; empty: no status
	Name    string
	Cards   []item
	Sum     float64       // sum of the estimates
	Options template.HTML // all lanes as HTML options, for the form of each card
}

// offerLanes sets the options of each lane, once for all its cards.
func offerLanes(list []lane) {
	for i := range list {
		var b strings.Builder
		for k, l := range list {
			selected := ""
			if k == i {
				selected = " selected"
			}
			fmt.Fprintf(&b, `<option value="%s"%s>%s</option>`, template.HTMLEscapeString(l.Oid), selected, template.HTMLEscapeString(l.Name))
		}
		list[i].Options = template.HTML(b.String())
	}
}

// Estimated returns the formatted sum of estimates, or "" if it is 0.
func (l lane) Estimated() string {
	if l.Sum == 0 {
		return ""
	}
	return chart.Number(l.Sum)
}

// showBoard serves GET ui/project/<oid>/board: the items, grouped by status.
func showBoard(v *ui.Visit) error { return renderBoard(v, "") }

func renderBoard(v *ui.Visit, message string) error {
	p, err := readProject(v, "/board")
	if err != nil {
		return err
	}
	f, err := readFilter(v)
	if err != nil {
		return err
	}
	f.Sort = ""
	page := board{project: p, Filter: f, Max: maxCards, Message: message, Return: v.Request.URL.RawQuery}
	q := f.items(p)
	q["select"], q["page"] = cardColumns, map[string]int{"size": maxCards + 1, "start": 0}
	var cards []item
	may, found := page.ask(p)
	queries, into := []ui.Query{q, may}, []any{&cards, found}
	page.offer(p, &queries, &into)
	if err := v.API.Find(queries, into...); err != nil {
		return err
	}
	if err := page.decide(v); err != nil {
		return err
	}
	if page.Bounded = len(cards) > maxCards; page.Bounded {
		cards = cards[:maxCards]
	}
	page.Lanes = lanes(page.Statuses, cards)
	offerLanes(page.Lanes)
	v.Sends("api/asset?atomic=true", `{"from": "Story:<id>", "update": {"Status": "StoryStatus:<id>"}}`)
	if v.IsPart() {
		return v.RenderPart("board", "cards", page)
	}
	return v.Render("board", p.Name+" · Board", page)
}

// lanes groups cards by status. A status that is inactive or not among the options has a lane
// only if it has cards.
func lanes(statuses []ui.Named, cards []item) []lane {
	list := []lane{{Name: "No status"}}
	place := map[string]int{ui.NoAsset: 0, "": 0}
	for _, s := range statuses {
		place[s.Oid] = len(list)
		list = append(list, lane{Oid: s.Oid, Name: s.Name})
	}
	for _, c := range cards {
		i, known := place[c.At.Oid]
		if !known {
			i = len(list)
			place[c.At.Oid] = i
			list = append(list, lane{Oid: c.At.Oid, Name: c.Status})
		}
		list[i].Cards = append(list[i].Cards, c)
		list[i].Sum += amount(c.Estimate)
	}
	return list
}

// moveItem serves POST ui/project/<oid>/move: it sets or clears the status of an item. The
// script receives a refusal as text.
func moveItem(v *ui.Visit) error {
	p, err := readProject(v, "/board")
	if err != nil {
		return err
	}
	refused, err := ui.AsError(moveTo(v, p))
	switch {
	case err != nil:
		return err
	case v.IsPart():
		return sayRefusal(v, refused)
	case refused != nil:
		v.Status = refused.Status
		keepReturn(v)
		return renderBoard(v, v.Readable(refused.Message))
	}
	return v.Redirect(p.Place("/board") + "?" + pathBack(v, "done", "moved"))
}

// moveTo executes the form of a card. Errors: *ui.Error.
func moveTo(v *ui.Visit, p *project) error {
	moved, to := v.Field("item"), v.Field("status")
	if !isItem(moved) || to != "" && !ui.IsOid(to, "StoryStatus") {
		return &ui.Error{Status: http.StatusBadRequest, Message: "Select an item and its new status."}
	}
	var status any
	if to != "" {
		status = to
	}
	return changeItem(v, p, moved, map[string]any{"Status": status})
}
