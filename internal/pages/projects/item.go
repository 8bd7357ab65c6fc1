package projects

import (
	"encoding/json"

	"github.com/alds-dev/alds/internal/ui"
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
	ToDo     json.Number
	Sprint   string `json:"Timebox.Name"`
	Priority string `json:"Priority.Name"`
}

// itemColumns is what tables select of items.
var itemColumns = []string{"Number", "Name", "AssetType", "AssetState", "Status.Name", "Owners.Nickname", "Estimate", "ToDo", "Timebox.Name", "Priority.Name"}

// Closed reports whether the item is closed.
func (i item) Closed() bool { return i.State == "Closed" }

// Types are the types of items that the form of a filter offers.
func (choices) Types() []string { return itemTypes }
