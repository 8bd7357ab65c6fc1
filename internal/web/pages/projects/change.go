package projects

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/web/ui"
)

// command is a command of the interface in its JSON form. Spec: interface 4.3.
type command = map[string]any

// maxName is the number of characters of a name.
const maxName = 4000

// maxTag is the number of characters of a tag.
const maxTag = 200

// operations are the operations of the toolbar: what each runs, on items in which state, and the notice.
var operations = map[string]struct{ op, state, done string }{
	"close":  {"QuickClose", "AssetState='Active'", "closed"},
	"reopen": {"Reactivate", "AssetState='Closed'", "reopened"},
	"delete": {"Delete", "AssetState='Active','Closed'", "deleted"},
}

// relations are the relations to one that the backlog changes, with the type of their values.
var relations = map[string]struct{ attribute, kind string }{
	"status":   {"Status", "StoryStatus"},
	"sprint":   {"Timebox", "Timebox"},
	"priority": {"Priority", "WorkitemPriority"},
	"project":  {"Scope", "Scope"},
}

// updateOf returns the update that sets a field of items to a value. self is the reader. Errors:
// *ui.Error, 400.
func updateOf(items []string, field, value, self string) (command, error) {
	if r, known := relations[field]; known {
		switch {
		case (value == "" || value == none) && field != "project":
			return command{r.attribute: nil}, nil
		case ui.IsOid(value, r.kind):
			return command{r.attribute: value}, nil
		}
		return nil, wrong("Choose a " + field + " from the list.")
	}
	switch field {
	case "owner":
		return ownersOf(items, value, self)
	case "estimate":
		return estimateOf(value)
	case "tag":
		if value == "" || len(value) > maxTag {
			return nil, wrong("A tag is a short text.")
		}
		return command{"TaggedWith": command{"add": []string{value}}}, nil
	case "name":
		if value == "" || len(value) > maxName {
			return nil, wrong("An item needs a name of at most 4,000 characters.")
		}
		return command{"Name": value}, nil
	}
	return nil, wrong("Choose what to change.")
}

// ownersOf returns the update that makes one member, or nobody, the owner of items.
func ownersOf(items []string, value, self string) (command, error) {
	owners := command{"remove": command{"from": "Member", "filter": []string{"OwnedWorkitems='" + strings.Join(items, "','") + "'"}}}
	switch {
	case value == "" || value == none:
	case value == "me":
		owners["add"] = []string{self}
	case ui.IsOid(value, "Member"):
		owners["add"] = []string{value}
	default:
		return nil, wrong("Choose an owner from the list.")
	}
	return command{"Owners": owners}, nil
}

// estimateOf returns the update that sets an estimate.
func estimateOf(value string) (command, error) {
	if value == "" || value == none {
		return command{"Estimate": nil}, nil
	}
	n, err := strconv.ParseFloat(strings.Replace(value, ",", ".", 1), 64)
	if err != nil || n < 0 || math.IsInf(n, 0) || math.IsNaN(n) {
		return nil, wrong("An estimate is a number such as 3 or 0.5, and not below 0.")
	}
	return command{"Estimate": n}, nil
}

func wrong(message string) error {
	return &ui.Error{Status: http.StatusBadRequest, Message: message}
}

// itemsGone returns the error for a change that found no item.
func itemsGone() error {
	return &ui.Error{Status: http.StatusNotFound, Message: "The item is no longer in this project."}
}

// selected returns the items that the form names. Errors: *ui.Error.
func selected(v *ui.Visit) ([]string, error) {
	var items []string
	for _, item := range v.Request.PostForm["item"] {
		if !isItem(item) {
			return nil, wrong("Select the item to change.")
		}
		if !slices.Contains(items, item) {
			items = append(items, item)
		}
	}
	if len(items) == 0 || len(items) > pageSize {
		return nil, wrong("Select the items to change.")
	}
	return items, nil
}

// given returns the variables for a query of items in the projects of the view.
func given(p *project, items []string) map[string]any {
	with := p.given()
	with["$Items"] = items
	return with
}

// commandOf returns the command that changes items as the form says, in the projects of the view, and
// the key of its notice. set is the value of the button: an operation, or a field and its value.
// Errors: *ui.Error, 400.
func commandOf(p *project, items []string, set, self string) (command, string, error) {
	c := command{"from": "PrimaryWorkitem", "filter": []string{"ID=$Items", within}, "with": given(p, items)}
	if o, known := operations[set]; known {
		c["filter"], c["execute"] = []string{"ID=$Items", within, o.state}, o.op
		return c, o.done, nil
	}
	field, value, _ := strings.Cut(set, "=")
	update, err := updateOf(items, field, value, self)
	c["update"] = update
	return c, "items", err
}

// typed are the fields of the toolbar into which people type.
var typed = []string{"estimate", "tag", "target"}

// setOf returns what the form changes. The button of a field with a text has only the name of the
// field. Enter in such a field presses the first button of the form, which has no value.
func setOf(v *ui.Visit) string {
	set := v.Field("set")
	if set == "" {
		for _, field := range typed {
			if v.Field(field) != "" {
				set = field
			}
		}
	}
	if slices.Contains(typed, set) {
		return set + "=" + v.Field(set)
	}
	return set
}

// changeItems serves POST ui/project/<oid>/change: it changes the selected items in one request. The
// script receives the new table, or the refusal as text.
func changeItems(v *ui.Visit) error {
	p, err := readProject(v, "")
	if err != nil {
		return err
	}
	done, n, err := change(v, p)
	refused, err := ui.AsError(err)
	switch {
	case err != nil:
		return err
	case refused != nil && v.IsPart():
		return sayRefusal(v, refused)
	case refused != nil:
		v.Status = refused.Status
		return backlogAgain(v, v.Readable(refused.Message), "")
	case v.IsPart():
		keepReturn(v)
		v.SayDone(done, n)
		return renderBacklog(v, "", "")
	}
	back := queryBack(v)
	back.Set("done", done)
	back.Set("n", strconv.Itoa(n))
	return v.Redirect(p.Place("") + "?" + back.Encode())
}

// change executes the form of the toolbar. It returns the key of the notice and the number of changed
// items. Errors: *ui.Error.
func change(v *ui.Visit, p *project) (done string, n int, err error) {
	items, err := selected(v)
	if err != nil {
		return "", 0, err
	}
	set := setOf(v)
	switch field, value, _ := strings.Cut(set, "="); {
	case field == "target":
		return "ranked", len(items), place(v, p)
	case set == "top":
		return set, len(items), rankTop(v, p, items)
	case field == "sprint":
		if err := fits(v, items, value); err != nil {
			return "", 0, err
		}
	}
	c, done, err := commandOf(p, items, set, v.Member.Oid)
	if err != nil {
		return "", 0, err
	}
	w, err := v.API.Write(c)
	n = len(w.AssetsModified.OidTokens)
	if c["execute"] != nil {
		n = len(w.AssetsOperatedOn.OidTokens)
	}
	if err == nil && n == 0 {
		err = itemsGone()
	}
	return done, n, err
}

// fits refuses a sprint of another schedule than that of the items' projects. A project without a
// schedule takes every sprint. Errors: *ui.Error.
func fits(v *ui.Visit, items []string, sprint string) error {
	if !ui.IsOid(sprint, "Timebox") {
		return nil
	}
	var of []struct{ Schedule ui.Reference }
	if err := v.API.Find([]ui.Query{{"from": sprint, "select": []string{"Schedule"}}}, &of); err != nil {
		return err
	}
	if len(of) == 0 {
		return wrong("The sprint is no longer there.")
	}
	var others []struct{ Number string }
	q := ui.Query{
		"from": "PrimaryWorkitem", "select": []string{"Number"}, "page": map[string]int{"size": 1, "start": 0},
		"filter": []string{"ID=$Items", "Scope.Schedule!=''", "Scope.Schedule!=$Schedule"}, "with": map[string]any{"$Items": items, "$Schedule": []string{of[0].Schedule.Oid}},
	}
	if err := v.API.Find([]ui.Query{q}, &others); err != nil {
		return err
	}
	if len(others) > 0 {
		return wrong("The project of " + others[0].Number + " has other sprints.")
	}
	return nil
}
