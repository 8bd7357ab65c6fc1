package home

import (
	"html/template"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/web/ui"
)

// changeDays is the number of days for which a change stands on the page, and maxChanges the number of changes.
const (
	changeDays = 30
	maxChanges = 10
)

// change is an item of the reader whose latest version is somebody else's.
type change struct {
	Oid    string `json:"_oid"`
	Number string
	Name   string
	Type   string        `json:"AssetType"`
	By     string        `json:"ChangedBy.Name"`
	At     string        `json:"ChangeDateUTC"`
	Note   string        `json:"ChangeComment"`
	State  string        `json:"AssetState"`
	Was    string        `json:"Prior.AssetState"`
	First  ui.Reference  `json:"Prior"` // NULL: the item is new
	What   string        `json:"-"`
	When   template.HTML `json:"-"`
	values
}

// values are compared. Those with a 0 are of the version before.
type values struct {
	Name0     string `json:"Prior.Name"`
	Status    string `json:"Status.Name"`
	Status0   string `json:"Prior.Status.Name"`
	Sprint    string `json:"Timebox.Name"`
	Sprint0   string `json:"Prior.Timebox.Name"`
	Project   string `json:"Scope.Name"`
	Project0  string `json:"Prior.Scope.Name"`
	Priority  string `json:"Priority.Name"`
	Priority0 string `json:"Prior.Priority.Name"`
	Estimate  string
	Estimate0 string `json:"Prior.Estimate"`
	ToDo      string
	ToDo0     string `json:"Prior.ToDo"`
}

// changeColumns are the attributes that the page selects of items.
var changeColumns = []string{
	"Number", "Name", "AssetType", "ChangedBy.Name", "ChangeDateUTC", "ChangeComment", "AssetState", "Prior", "Prior.AssetState",
	"Prior.Name", "Status.Name", "Prior.Status.Name", "Timebox.Name", "Prior.Timebox.Name", "Scope.Name", "Prior.Scope.Name",
	"Priority.Name", "Prior.Priority.Name", "Estimate", "Prior.Estimate", "ToDo", "Prior.ToDo",
}

// showChanges serves GET ui/changes: the latest changes by others to items that the reader owns or has created.
// The first page loads it after itself, because nothing in the database leads from a member to what the member
// has created.
func showChanges(v *ui.Visit) error {
	var page []change
	err := v.API.Find([]ui.Query{changesQuery(v.Member.Oid, time.Now().UTC())}, &page)
	if err != nil {
		return err
	}
	for i := range page {
		page[i].What, page[i].When = page[i].says(), instant(page[i].At)
	}
	if v.IsPart() {
		return v.RenderPart("changes", "changes", page)
	}
	return v.Render("changes", "Changed lately", page)
}

// changesQuery returns the query for a member.
func changesQuery(member string, now time.Time) ui.Query {
	return ui.Query{
		"from": "Workitem", "select": changeColumns, "filter": []string{"Owners=$Me|CreatedBy=$Me", "ChangedBy!=$Me", "ChangeDateUTC>$Since"},
		"with": map[string]any{"$Me": []string{member}, "$Since": []string{now.AddDate(0, 0, -changeDays).Format(time.DateOnly)}},
		"sort": []string{"-ChangeDateUTC", "-ID"}, "page": first(maxChanges),
	}
}

// says returns what the latest version changed, such as "Status: Done; Estimate: 3 → 5".
func (c change) says() string {
	if c.First.Oid == ui.NoAsset || c.First.Oid == "" {
		return "New"
	}
	var all []string
	if c.State != c.Was {
		all = append(all, map[string]string{"Active": "Reopened", "Closed": "Closed"}[c.State])
	}
	for _, d := range []struct{ name, was, is string }{
		{"Name", c.Name0, c.Name},
		{"Status", c.Status0, c.Status},
		{"Sprint", c.Sprint0, c.Sprint},
		{"Project", c.Project0, c.Project},
		{"Priority", c.Priority0, c.Priority},
		{"Estimate", c.Estimate0, c.Estimate},
		{"To do", c.ToDo0, c.ToDo},
	} {
		switch {
		case d.was == d.is:
		case d.was == "":
			all = append(all, d.name+": "+d.is)
		case d.is == "":
			all = append(all, d.name+": "+d.was+" → none")
		default:
			all = append(all, d.name+": "+d.was+" → "+d.is)
		}
	}
	if len(all) == 0 {
		return "Other fields"
	}
	return strings.Join(all, "; ")
}
