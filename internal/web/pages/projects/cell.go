package projects

import (
	"net/http"
	"strconv"

	"github.com/alds-dev/alds/internal/web/ui"
)

// row is the data of one row of the backlog.
type row struct {
	*backlog
	Told string // refusal that the script shows with the row
}

// changeCell serves POST ui/project/<oid>/cell: it sets one field of an item. The answer is the new row,
// or the refusal as text. The form has the moment of the row and the text that the cell has shown. If
// somebody else has changed the field since, nothing is changed, and the answer says both values.
func changeCell(v *ui.Visit) error {
	p, err := readProject(v, "")
	if err != nil {
		return err
	}
	items, err := selected(v)
	if err == nil && len(items) != 1 {
		err = wrong("Select one item.")
	}
	var update command
	if err == nil {
		update, err = updateOf(items, v.Field("field"), v.Field("value"), v.Member.Oid)
	}
	if err == nil && v.Field("field") == "sprint" {
		err = fits(v, items, v.Field("value"))
	}
	if err == nil {
		if _, bad := strconv.ParseUint(v.Field("moment"), 10, 63); bad != nil {
			err = wrong("The row has no moment.")
		}
	}
	if err == nil {
		err = writeCell(v, p, items[0], update)
	}
	refused, err := ui.AsError(err)
	switch {
	case err != nil:
		return err
	case refused != nil && refused.Status != http.StatusConflict:
		return sayRefusal(v, refused)
	}
	return sendRow(v, p, items[0], refused)
}

// writeCell changes an item if the field is still as the reader has seen it. The moment of the row may be
// older, for example because the item got another rank since. Errors: *ui.Error, 409 if the field has
// changed.
func writeCell(v *ui.Visit, p *project, item string, update command) error {
	c := command{"from": item, "filter": []string{within}, "with": p.given(), "update": update}
	err := v.API.WriteUnchanged(v.Field("moment"), "", c)
	if refused, _ := ui.AsError(err); refused == nil || refused.Status != http.StatusConflict {
		return err
	}
	now, err := readRow(v, p, item)
	if err != nil {
		return err
	}
	if is := now.text(v.Field("field")); is != v.Field("shown") {
		return &ui.Error{Status: http.StatusConflict, Message: "Somebody else has changed it to “" + is + "”. It was not changed to “" + v.Field("text") + "”."}
	}
	return v.API.WriteUnchanged(now.Moment.String(), "", c)
}

// text returns the text of a cell.
func (i item) text(field string) string {
	switch field {
	case "name":
		return i.Name
	case "status":
		return i.StatusText()
	case "owner":
		return i.Owner()
	case "estimate":
		return i.Estimate.String()
	case "sprint":
		return i.Sprint
	case "priority":
		return i.Priority
	}
	return ""
}

// readRow reads an item as the table shows it. Errors: *ui.Error, 404 if it is not in the view.
func readRow(v *ui.Visit, p *project, oid string) (item, error) {
	var found []item
	q := ui.Query{"from": oid, "select": p.rowColumns(), "filter": []string{within, "AssetState='Active','Closed'"}, "with": p.given("$Dead", "Dead")}
	if err := v.API.Find([]ui.Query{q}, &found); err != nil {
		return item{}, err
	}
	if len(found) != 1 {
		return item{}, itemsGone()
	}
	return found[0], nil
}

// sendRow answers with the row of an item, and with the refusal of its change if there is one.
func sendRow(v *ui.Visit, p *project, oid string, refused *ui.Error) error {
	one, err := readRow(v, p, oid)
	if err != nil {
		return err
	}
	page := row{backlog: &backlog{project: p, Items: []item{one}, mine: mine{Changes: true}}}
	if refused != nil {
		v.Status, page.Told = refused.Status, v.Readable(refused.Message)
	}
	return v.RenderPart("backlog", "cell", page)
}
