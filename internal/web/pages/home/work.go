package home

import (
	"cmp"
	"encoding/json"
	"html/template"
	"slices"
	"time"

	"github.com/alds-dev/alds/internal/web/ui"
)

// The most rows of each part of the page.
const (
	maxItems     = 50
	maxTalks     = 20
	maxSprints   = 6
	maxProposals = 10
)

// talkDays is the number of days for which a comment waits on the page for an answer.
const talkDays = 14

// talk is a comment that the reader may have to answer.
type talk struct {
	Oid     string `json:"_oid"`
	Author  string `json:"Author.Name"`
	At      string `json:"AuthoredAt"`
	Content string
	About   []named `json:"Mentions"`
	// On is the asset on whose page the comment stands. Its Oid is empty if the reader sees none.
	On   named         `json:"-"`
	HTML template.HTML `json:"-"`
	When template.HTML `json:"-"`
}

// named is an asset that a comment mentions.
type named struct {
	Oid  string `json:"_oid"`
	Type string `json:"AssetType"`
	Name string
}

// proposal is a proposal of somebody else that nobody has decided.
type proposal struct {
	Oid    string `json:"_oid"`
	Number string
	Name   string
	By     string `json:"ProposedBy.Name"`
	Scope  string `json:"Scope.Name"`
}

// work is the data of the first page.
type work struct {
	Groups    []group
	More      bool // there are more items than maxItems
	Talks     []talk
	Proposals []proposal
	Sprints   []sprint
}

// Empty reports whether the page has nothing to show.
func (w *work) Empty() bool {
	return len(w.Groups)+len(w.Talks)+len(w.Proposals)+len(w.Sprints) == 0
}

// showWork serves GET ui/: what the reader owns, has to answer, and what others have changed in it.
func showWork(v *ui.Visit) error {
	page, now := work{}, time.Now().UTC()
	var inSprints, others []item
	var scopes []ui.Reference
	queries := workQueries(v.Member.Oid, now)
	into := []any{&inSprints, &others, &page.Sprints, &page.Talks, &page.Proposals}
	greets := v.Site.Greets && v.Member.Administers() && v.Request.URL.RawQuery == ""
	if greets {
		queries, into = append(queries, ui.Query{"from": "Scope", "page": first(2)}), append(into, &scopes)
	}
	if err := v.API.Find(queries, into...); err != nil {
		return err
	}
	if greets && len(scopes) <= 1 {
		return v.Redirect("/ui/welcome") // a new service has only the root project
	}
	items := slices.Concat(inSprints, others)
	if page.More = len(items) > maxItems; page.More {
		items = items[:maxItems]
	}
	page.Groups = groups(items)
	for i := range page.Sprints {
		page.Sprints[i].complete(inSprints, now)
	}
	for i := range page.Talks {
		page.Talks[i].complete()
	}
	return v.Render("work", "My work", &page)
}

// workQueries returns the queries of the page for a member: open items in active sprints, all other open items,
// active sprints with open items, comments, and proposals.
func workQueries(member string, now time.Time) []ui.Query {
	me := func(pairs ...string) map[string]any {
		with := map[string]any{"$Me": []string{member}, "$Active": []string{"Active"}, "$Closed": []string{"Closed"}, "$Open": []string{"Active", "Future"}, "$Types": ownedTypes}
		for i := 0; i+1 < len(pairs); i += 2 {
			with[pairs[i]] = []string{pairs[i+1]}
		}
		return with
	}
	return []ui.Query{{
		"from": "Workitem", "select": itemColumns, "filter": []string{ownedOpen, "Timebox.AssetState=$Active"}, "with": me(),
		"sort": []string{"Timebox.EndDate", "Timebox", "Scope.Name", "Scope", "Order"}, "page": first(maxItems + 1),
	}, {
		"from": "Workitem", "select": itemColumns, "filter": []string{ownedOpen, "Timebox.AssetState!=$Active"}, "with": me(),
		"sort": []string{"-Timebox.AssetState", "Scope.Name", "Scope", "Timebox", "Order"}, "page": first(maxItems + 1),
	}, {
		"from": "Timebox", "select": []string{"Name", "BeginDate", "EndDate", sprintMine, sprintOpen, sprintDone},
		"filter": []string{"AssetState=$Active", "Workitems[Owners=$Me;AssetState=$Open].@Count>'0'"}, "with": me(), "sort": []string{"EndDate"}, "page": first(maxSprints),
	}, {
		"from":   "Expression",
		"select": []any{"Author.Name", "AuthoredAt", "Content", ui.Query{"from": "Mentions", "select": []string{"Name", "AssetType"}}},
		"filter": []string{"BelongsTo.Participants=$Me|InReplyTo.Author=$Me|Mentions=$Me", "Author!=$Me", "Replies.Author!=$Me", "AuthoredAt>$Since"},
		"with":   me("$Since", now.AddDate(0, 0, -talkDays).Format(time.DateOnly)), "sort": []string{"-AuthoredAt", "-ID"}, "page": first(maxTalks),
	}, {
		"from": "Proposal", "select": []string{"Number", "Name", "ProposedBy.Name", "Scope.Name"}, "filter": []string{"AssetState=$Active", "ProposedBy!=$Me", "CanUpdate='true'"},
		"with": me(), "sort": []string{"-CreateDateUTC"}, "page": first(maxProposals),
	}}
}

// sprint is an active sprint in which the reader has open items.
type sprint struct {
	Oid   string    `json:"_oid"`
	Name  string    `json:"Name"`
	Begin string    `json:"BeginDate"`
	End   string    `json:"EndDate"` // the day after the last day
	Mine  ui.Count  `json:"Workitems[Owners=$Me;AssetState=$Open;AssetType=$Types].@Count"`
	Open  ui.Count  `json:"Workitems:PrimaryWorkitem[AssetState=$Open].@Count"`
	Done  ui.Count  `json:"Workitems:PrimaryWorkitem[AssetState=$Closed].@Count"`
	First time.Time `json:"-"`
	Last  time.Time `json:"-"`
	Days  int       `json:"-"` // days from today to the last day; below 0 if that is past
	Scope string    `json:"-"` // project with most of the reader's open items
}

// Tokens of the sums of a sprint.
const (
	sprintMine = "Workitems[Owners=$Me;AssetState=$Open;AssetType=$Types].@Count"
	sprintOpen = "Workitems:PrimaryWorkitem[AssetState=$Open].@Count"
	sprintDone = "Workitems:PrimaryWorkitem[AssetState=$Closed].@Count"
)

// All returns the number of items of the sprint.
func (s sprint) All() int { return int(s.Open + s.Done) }

// Over returns the number of days since the last day.
func (s sprint) Over() int { return -s.Days }

// complete sets the days of the sprint, and the project from the reader's items.
func (s *sprint) complete(items []item, now time.Time) {
	s.First, s.Last = dayOf(s.Begin), dayOf(s.End).AddDate(0, 0, -1)
	s.Days = int(s.Last.Sub(now.Truncate(24*time.Hour)) / (24 * time.Hour))
	counts := map[string]int{}
	for _, i := range items {
		if i.In.Oid == s.Oid {
			if counts[i.Scope.Oid]++; counts[i.Scope.Oid] > counts[s.Scope] {
				s.Scope = i.Scope.Oid
			}
		}
	}
}

// dayOf parses the day at the start of a text. Other texts are the zero time.
func dayOf(text string) time.Time {
	day, _ := time.Parse(time.DateOnly, text[:min(len(text), len(time.DateOnly))])
	return day
}

// complete sets what the page shows of a comment. The asset that it is about is no member, if it mentions others.
func (t *talk) complete() {
	t.HTML, t.When = ui.Sanitized(t.Content), instant(t.At)
	slices.SortStableFunc(t.About, func(a, b named) int { return cmp.Compare(isMember(a), isMember(b)) })
	if len(t.About) > 0 {
		t.On = t.About[0]
	}
}

func isMember(n named) int {
	if n.Type == "Member" {
		return 1
	}
	return 0
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

// item is an open item.
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

// itemColumns are the attributes that pages select of items.
var itemColumns = []string{"Number", "Name", "AssetType", "Status.Name", "Scope", "Scope.Name", "Timebox", "Timebox.Name", "Parent.Name", "ToDo", "Estimate"}

// ownedTypes are the types of items that somebody works on.
var ownedTypes = []string{"Story", "Defect", "TestSet", "Task", "Test"}

// ownedOpen is the filter for open items of the member $Me.
const ownedOpen = "Owners=$Me;AssetState=$Open;AssetType=$Types"

// group has the items of one project and one sprint.
type group struct {
	Scope, Of    string
	Sprint, Name string // Oid and name of the sprint; empty: none
	Items        []item
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
