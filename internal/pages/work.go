package pages

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// reference is an asset that a relation leads to.
type reference struct {
	Oid string `json:"_oid"`
}

// noAsset is the Oid of a relation that leads nowhere.
const noAsset = "NULL"

// count is a whole number that the interface writes as text.
type count int

// UnmarshalJSON reads a number or a text of one.
func (c *count) UnmarshalJSON(b []byte) error {
	text := strings.Trim(string(b), `"`)
	if text == "null" || text == "" {
		*c = 0
		return nil
	}
	n, err := strconv.Atoi(text)
	*c = count(n)
	return err
}

// oids are the forms of an Oid, without a moment.
var oids = regexp.MustCompile(`^([A-Z][A-Za-z]*):(0|-?[1-9][0-9]{0,17})$`)

// isOid reports whether a text is an Oid of one of the types.
func isOid(text string, types ...string) bool {
	m := oids.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	for _, t := range types {
		if m[1] == t {
			return true
		}
	}
	return false
}

// isItem reports whether a text is the Oid of a backlog item.
func isItem(text string) bool { return isOid(text, itemTypes...) }

// itemTypes are the types of backlog items.
var itemTypes = []string{"Story", "Defect", "TestSet"}

// named is an asset that a form offers.
type named struct {
	Oid  string `json:"_oid"`
	Name string
}

// item is a backlog item as tables and boards read it.
type item struct {
	Oid      string `json:"_oid"`
	Number   string
	Name     string
	Type     string    `json:"AssetType"`
	State    string    `json:"AssetState"`
	Status   string    `json:"Status.Name"`
	At       reference `json:"Status"`
	Owners   []string  `json:"Owners.Nickname"`
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
