package pages

import (
	"net/http"

	"github.com/alds-dev/alds/internal/chart"
)

// maxCards is how many cards a board has.
const maxCards = 1000

// board is what the page of a project's board shows.
type board struct {
	*project
	Filter  filter
	Lanes   []lane
	Bounded bool
	Max     int
	Message string
	Return  string
	choices
}

// lane is a column of the board.
type lane struct {
	Oid   string // of the status; empty: none
	Name  string
	Cards []item
	Sum   float64 // of the estimates
}

// Estimated is the sum as people read it; empty: nothing is estimated.
func (l lane) Estimated() string {
	if l.Sum == 0 {
		return ""
	}
	return chart.Number(l.Sum)
}

// showBoard serves GET ui/project/<oid>/board: the items by status.
func showBoard(v *visit) error { return v.board("") }

func (v *visit) board(message string) error {
	p, err := v.project("/board")
	if err != nil {
		return err
	}
	f, err := v.filter()
	if err != nil {
		return err
	}
	f.Sort = ""
	page := board{project: p, Filter: f, Max: maxCards, Message: message, Return: v.r.URL.RawQuery}
	q := f.items(p)
	q["select"], q["page"] = append([]string{"Status"}, itemColumns...), map[string]int{"size": maxCards + 1, "start": 0}
	var cards []item
	queries, into := []query{q}, []any{&cards}
	page.offer(p, &queries, &into)
	if err := v.api.find(queries, into...); err != nil {
		return err
	}
	if page.Bounded = len(cards) > maxCards; page.Bounded {
		cards = cards[:maxCards]
	}
	page.Lanes = lanes(page.Statuses, cards)
	v.stands("api/asset?atomic=true", `{"from": "Story:<id>", "update": {"Status": "StoryStatus:<id>"}}`)
	if v.isPart() {
		return v.renderPart("board", "cards", page)
	}
	return v.render("board", p.Name+" · Board", page)
}

// lanes puts cards under their statuses. A status that is out of use, or not among
// those offered, has a lane when there are cards in it.
func lanes(statuses []named, cards []item) []lane {
	list := []lane{{Name: "No status"}}
	place := map[string]int{noAsset: 0, "": 0}
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

// moveItem serves POST ui/project/<oid>/move: it gives an item another status, or none.
// The script gets the refusal as text.
func moveItem(v *visit) error {
	p, err := v.project("/board")
	if err != nil {
		return err
	}
	refused, err := asFailure(v.move(p))
	switch {
	case err != nil:
		return err
	case v.isPart():
		return v.sayRefusal(refused)
	case refused != nil:
		v.status = refused.Status
		v.returned()
		return v.board(readable(refused.Message))
	}
	return v.to(p.Place("/board") + "?" + v.back("done", "moved"))
}

// move carries out the form of a card. Errors: *failure.
func (v *visit) move(p *project) error {
	moved, to := v.field("item"), v.field("status")
	if !isItem(moved) || to != "" && !isOid(to, "StoryStatus") {
		return &failure{Status: http.StatusBadRequest, Message: "Say which item has which status now."}
	}
	var status any
	if to != "" {
		status = to
	}
	return v.change(p, moved, map[string]any{"Status": status})
}
