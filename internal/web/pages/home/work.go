package home

import (
	"encoding/json"
	"html/template"
	"time"

	"github.com/alds-dev/alds/internal/web/ui"
)

// The most rows of each part of the page.
const (
	maxItems   = 100
	maxTalks   = 20
	maxChanges = 10
)

// talkDays is the number of days for which a comment waits on the page for an answer.
const talkDays = 14

// item is an open item of the reader.
type item struct {
	Oid    string `json:"_oid"`
	Number string
	Name   string
	Type   string       `json:"AssetType"`
	Status string       `json:"Status.Name"`
	Scope  ui.Reference `json:"Scope"`
	Of     string       `json:"Scope.Name"`
	Sprint string       `json:"Timebox.Name"`
	In     ui.Reference `json:"Timebox"`
	Parent string       `json:"Parent.Name"`
	ToDo   json.Number
	Points json.Number `json:"Estimate"`
}

// group has the items of one project and one sprint.
type group struct {
	Scope, Of    string
	Sprint, Name string // Oid and name of the sprint; empty: none
	Items        []item
}

// talk is a comment that the reader may have to answer.
type talk struct {
	Oid     string `json:"_oid"`
	Author  string `json:"Author.Name"`
	At      string `json:"AuthoredAt"`
	Content string
	About   []struct {
		Oid  string `json:"_oid"`
		Name string
	} `json:"Mentions"`
	HTML template.HTML `json:"-"`
	When template.HTML `json:"-"`
	On   string        `json:"-"` // Oid of the asset on whose page the comment stands
	Name string        `json:"-"`
}

// change is an item of the reader that somebody else has changed.
type change struct {
	Oid    string `json:"_oid"`
	Number string
	Name   string
	Type   string        `json:"AssetType"`
	By     string        `json:"ChangedBy.Name"`
	At     string        `json:"ChangeDateUTC"`
	When   template.HTML `json:"-"`
}

// work is the data of the first page.
type work struct {
	Groups  []group
	More    bool // there are more items than maxItems
	Talks   []talk
	Changes []change
	Sprints []sprint
}

// sprint is an active sprint in which the reader has open items.
type sprint struct {
	Oid, Name, Scope string
	Open             int // open items of the reader
}

// Empty reports whether the page has nothing to show.
func (w *work) Empty() bool { return len(w.Groups)+len(w.Talks)+len(w.Changes) == 0 }

// showWork serves GET ui/: what the reader owns, has to answer, and what others have changed in it.
func showWork(v *ui.Visit) error {
	if v.Site.Greets && v.Member.Administers() && v.Request.URL.RawQuery == "" {
		var scopes []struct{}
		if err := v.Quiet().Find([]ui.Query{{"from": "Scope", "page": map[string]int{"start": 0, "size": 2}}}, &scopes); err != nil {
			return err
		}
		if len(scopes) <= 1 {
			return v.Redirect("/ui/welcome") // a new service has only the root project
		}
	}
	page, me := work{}, map[string]any{"$Me": []string{v.Member.Oid}}
	since := time.Now().UTC().AddDate(0, 0, -talkDays).Format("2006-01-02T15:04:05")
	var items []item
	err := v.API.Find([]ui.Query{{
		"from": "Workitem", "select": []string{"Number", "Name", "AssetType", "Status.Name", "Scope", "Scope.Name", "Timebox", "Timebox.Name", "Parent.Name", "ToDo", "Estimate"},
		"filter": []string{"Owners=$Me", "AssetState='Active','Future'"}, "with": me, "sort": []string{"Scope.Name", "Scope", "Timebox.EndDate", "Timebox", "Number"},
		"page": map[string]int{"size": maxItems + 1, "start": 0},
	}, {
		"from": "Expression", "select": []any{"Author.Name", "AuthoredAt", "Content", ui.Query{"from": "Mentions", "select": []string{"Name"}}},
		"filter": []string{"BelongsTo.Participants=$Me|InReplyTo.Author=$Me", "Author!=$Me", "AuthoredAt>'" + since + "'"}, "with": me,
		"sort": []string{"-AuthoredAt", "-ID"}, "page": map[string]int{"size": maxTalks, "start": 0},
	}, {
		"from": "Workitem", "select": []string{"Number", "Name", "AssetType", "ChangedBy.Name", "ChangeDateUTC"},
		"filter": []string{"Owners=$Me", "ChangedBy!=$Me", "ChangeDateUTC>'" + since + "'"}, "with": me, "sort": []string{"-ChangeDateUTC"},
		"page": map[string]int{"size": maxChanges, "start": 0},
	}}, &items, &page.Talks, &page.Changes)
	if err != nil {
		return err
	}
	if page.More = len(items) > maxItems; page.More {
		items = items[:maxItems]
	}
	page.Groups = groups(items)
	page.Sprints = sprints(page.Groups)
	for i := range page.Talks {
		page.Talks[i].complete()
	}
	for i, c := range page.Changes {
		page.Changes[i].When = instant(c.At)
	}
	return v.Render("work", "My work", &page)
}

// groups puts items that follow one another and have the same project and sprint together.
func groups(items []item) (all []group) {
	for _, i := range items {
		if n := len(all); n == 0 || all[n-1].Scope != i.Scope.Oid || all[n-1].Sprint != sprintOf(i) {
			all = append(all, group{Scope: i.Scope.Oid, Of: i.Of, Sprint: sprintOf(i), Name: i.Sprint})
		}
		last := &all[len(all)-1]
		last.Items = append(last.Items, i)
	}
	return all
}

func sprintOf(i item) string {
	if i.In.Oid == ui.NoAsset {
		return ""
	}
	return i.In.Oid
}

// sprints returns the sprints of the groups, each once.
func sprints(all []group) (found []sprint) {
	at := map[string]int{}
	for _, g := range all {
		if g.Sprint == "" {
			continue
		}
		if _, known := at[g.Sprint]; !known {
			at[g.Sprint] = len(found)
			found = append(found, sprint{Oid: g.Sprint, Name: g.Name, Scope: g.Scope})
		}
		found[at[g.Sprint]].Open += len(g.Items)
	}
	return found
}

// complete sets what the page shows of a comment. It stands on the page of the first asset that it mentions.
func (t *talk) complete() {
	t.HTML, t.When = ui.Sanitized(t.Content), instant(t.At)
	if len(t.About) > 0 {
		t.On, t.Name = t.About[0].Oid, t.About[0].Name
	}
}

// instant formats an instant of a row.
func instant(text string) template.HTML {
	for _, form := range []string{"2006-01-02T15:04:05.999999999", time.RFC3339Nano} {
		if at, err := time.Parse(form, text); err == nil {
			return ui.Instant(at)
		}
	}
	return template.HTML(template.HTMLEscapeString(text))
}
