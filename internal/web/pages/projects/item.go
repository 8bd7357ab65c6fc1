package projects

import (
	"encoding/json"
	"strings"

	"github.com/alds-dev/alds/internal/web/chart"
	"github.com/alds-dev/alds/internal/web/ui"
)

// isItem reports whether a text is the Oid of a backlog item.
func isItem(text string) bool { return ui.IsOid(text, itemTypes...) }

// itemTypes are the types of backlog items.
var itemTypes = []string{"Story", "Defect", "TestSet"}

// item is a backlog item as tables and boards read it.
type item struct {
	Oid      string `json:"_oid"`
	Number   string
	Name     string
	Type     string       `json:"AssetType"`
	State    string       `json:"AssetState"`
	Status   string       `json:"Status.Name"`
	At       ui.Reference `json:"Status"`
	Owners   []string     `json:"Owners.Nickname"`
	Estimate json.Number
	OwnToDo  json.Number `json:"ToDo"`
	OfParts  json.Number `json:"Children[AssetState!=$Dead].ToDo.@Sum"`
	Sprint   string      `json:"Timebox.Name"`
	Priority string      `json:"Priority.Name"`
	Project  string      `json:"Scope.Name"`
	Moment   json.Number // of the last change
	May      bool        `json:"CanUpdate"` // the reader may change it
}

// Owner returns the owners as text.
func (i item) Owner() string { return strings.Join(i.Owners, ", ") }

// StatusText returns the status, and whether the item is closed.
func (i item) StatusText() string {
	if i.Closed() {
		return strings.TrimSpace(i.Status + " (closed)")
	}
	return i.Status
}

// Attributes that pages select of items. The method ToDo computes the sum of the ToDo of an
// item and of its tasks and tests. The attribute AllocatedToDo has the same sum, but the database
// needs ten times as long for it.
var (
	itemColumns    = []string{"Number", "Name", "AssetType", "AssetState", "Status.Name", "Owners.Nickname", "Estimate", "ToDo", "Children[AssetState!=$Dead].ToDo.@Sum"}
	backlogColumns = append([]string{"Timebox.Name", "Priority.Name", "Moment", "CanUpdate"}, itemColumns...)
	cardColumns    = []string{"Number", "Name", "AssetState", "Status", "Status.Name", "Owners.Nickname", "Estimate"}
)

// ToDo returns the work to do including tasks and tests, as in AllocatedToDo, or "" if there
// is no value.
func (i item) ToDo() string {
	if i.OwnToDo == "" && i.OfParts == "" {
		return ""
	}
	return chart.Number(amount(i.OwnToDo) + amount(i.OfParts))
}

// Closed reports whether the item is closed.
func (i item) Closed() bool { return i.State == "Closed" }

// Types returns the types of items for the form of a filter.
func (choices) Types() []string { return itemTypes }
