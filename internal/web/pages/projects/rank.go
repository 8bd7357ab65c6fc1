package projects

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/web/ui"
)

// rankItem serves POST ui/project/<oid>/rank: it puts an item before or after another item,
// which the form names by Number or Oid. The script receives a refusal as text. Spec:
// interface 11.
func rankItem(v *ui.Visit) error {
	p, err := readProject(v, "")
	if err != nil {
		return err
	}
	err = place(v, p)
	refused, err := ui.AsError(err)
	if err != nil {
		return err
	}
	if v.IsPart() {
		return sayRefusal(v, refused)
	}
	if refused != nil {
		v.Status = refused.Status
		return backlogAgain(v, v.Readable(refused.Message), "")
	}
	return v.Redirect(p.Place("") + "?" + pathBack(v, "done", "ranked"))
}

// place executes the form for a rank. Errors: *ui.Error.
func place(v *ui.Visit, p *project) error {
	items, err := selected(v)
	if err != nil {
		return err
	}
	place := map[string]string{"before": "Before", "after": "After"}[v.Field("place")]
	if place == "" {
		return &ui.Error{Status: http.StatusBadRequest, Message: "An item goes before or after another."}
	}
	target, err := itemNamed(v, v.Field("target"))
	if err != nil {
		return err
	}
	return rank(v, p, items, place, target)
}

// rank puts items before or after a target, in their order. Errors: *ui.Error.
func rank(v *ui.Visit, p *project, items []string, place, target string) error {
	done, err := v.API.Write(rankCommands(p, items, place, target)...)
	if err == nil && len(done.AssetsModified.OidTokens) == 0 {
		return itemsGone()
	}
	return err
}

// rankCommands returns the commands that put items before or after a target, in their order.
func rankCommands(p *project, items []string, place, target string) []any {
	items = slices.Clone(items)
	if place == "After" {
		slices.Reverse(items) // each goes directly after the target
	}
	var commands []any
	for _, item := range items {
		if item != target {
			commands = append(commands, command{"from": item, "filter": []string{within}, "with": p.given(), "update": command{"Order": command{place: target}}})
		}
	}
	return commands
}

// rankTop puts items before all others of the view. Errors: *ui.Error.
func rankTop(v *ui.Visit, p *project, items []string) error {
	var first []ui.Reference
	q := ui.Query{"from": "PrimaryWorkitem", "filter": []string{within, "ID!=$Items"}, "with": given(p, items), "sort": []string{"Order"}, "page": map[string]int{"size": 1, "start": 0}}
	if err := v.API.Find([]ui.Query{q}, &first); err != nil {
		return err
	}
	if len(first) == 0 {
		return nil // there are no others
	}
	return rank(v, p, items, "Before", first[0].Oid)
}

// changeItem updates an item if it is in the projects of the view. So a form of another
// project changes nothing. Errors: *ui.Error.
func changeItem(v *ui.Visit, p *project, item string, update map[string]any) error {
	done, err := v.API.Write(command{"from": item, "filter": []string{within}, "with": p.given(), "update": update})
	if err == nil && len(done.AssetsModified.OidTokens) == 0 {
		return itemsGone()
	}
	return err
}

// itemNamed returns the Oid of an item by its Oid or Number. Errors: *ui.Error.
func itemNamed(v *ui.Visit, text string) (string, error) {
	if isItem(text) {
		return text, nil
	}
	var found []ui.Named
	if text != "" && len(text) < maxFilterText {
		q := ui.Query{"from": "PrimaryWorkitem", "where": map[string]string{"Number": text}, "page": map[string]int{"size": 1, "start": 0}}
		if err := v.API.Find([]ui.Query{q}, &found); err != nil {
			return "", err
		}
	}
	if len(found) == 0 {
		return "", &ui.Error{Status: http.StatusBadRequest, Message: "Give the number of the item that it goes beside, such as S-01234: there is no “" + text + "”."}
	}
	return found[0].Oid, nil
}

// sayRefusal answers the script with 204, or with the refusal as text.
func sayRefusal(v *ui.Visit, refused *ui.Error) error {
	v.Status = http.StatusNoContent
	if refused == nil {
		v.WriteStatus()
		return nil
	}
	v.Status = refused.Status
	return v.Send("text/plain; charset=utf-8", []byte(v.Readable(refused.Message)))
}

// addItem serves POST ui/project/<oid>/add: it creates an item, which gets the last rank.
func addItem(v *ui.Visit) error {
	p, err := readProject(v, "")
	if err != nil {
		return err
	}
	kind := v.Field("type")
	if kind != "Defect" {
		kind = "Story"
	}
	err = v.Once()
	var done ui.Written
	if err == nil {
		done, err = v.API.Write(map[string]any{"AssetType": kind, "Name": v.Field("name"), "Scope": p.Oid})
	}
	refused, err := ui.AsError(err)
	if err != nil {
		return err
	}
	if refused != nil {
		v.Status = refused.Status
		return backlogAgain(v, v.Readable(refused.Message), v.Field("name"))
	}
	made := ""
	if len(done.AssetsCreated.OidTokens) == 1 {
		made, _ = cutMoment(done.AssetsCreated.OidTokens[0])
	}
	return v.Redirect(p.Place("") + "?" + pathBack(v, "made", made))
}

// cutMoment splits an Oid into asset and moment. The moment is empty if the Oid has none.
func cutMoment(oid string) (asset, moment string) {
	if strings.Count(oid, ":") < 2 {
		return oid, ""
	}
	at := strings.LastIndexByte(oid, ':')
	return oid[:at], oid[at+1:]
}

// pathBack returns the query string of the page with the form, plus one parameter.
func pathBack(v *ui.Visit, name, value string) string {
	values := queryBack(v)
	values.Set(name, value)
	return values.Encode()
}

// queryBack returns the query of the page with the form, without the results of an earlier
// form.
func queryBack(v *ui.Visit) url.Values {
	values, err := url.ParseQuery(v.Field("return"))
	if err != nil {
		values = url.Values{}
	}
	return ui.WithoutResults(values)
}

// backlogAgain answers a refused form with the backlog page.
func backlogAgain(v *ui.Visit, message, name string) error {
	keepReturn(v)
	return renderBacklog(v, message, name)
}

// keepReturn sets the query of the visit to the query of the page with the form.
func keepReturn(v *ui.Visit) {
	u := *v.Request.URL
	u.RawQuery = queryBack(v).Encode()
	v.Request.URL = &u
}

// toView redirects from the URL of a form to the view with the form. A reader can request the URL
// of the form, because the browser shows this URL after a refusal.
func toView(view string) ui.Page {
	return func(v *ui.Visit) error {
		p := project{Oid: v.Request.PathValue("oid")}
		if !ui.IsOid(p.Oid, "Scope") {
			return ui.NotFound()
		}
		return v.Redirect(p.Place(view) + "?" + v.Request.URL.RawQuery)
	}
}
