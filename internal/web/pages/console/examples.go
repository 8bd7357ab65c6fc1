package console

import (
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/web/ui"
)

// exampleGroup has the examples about one topic.
type exampleGroup struct {
	Title    string
	Examples []exampleRequest
}

// exampleRequest is a request that works with the data of the reader.
type exampleRequest struct {
	Title   string
	Request string
	Path    string // empty: the path of commands
	Link    string // fills the editor with the request
}

// exampleData has assets of the reader for use in examples.
type exampleData struct {
	Project, Story, Member string
	Writes                 bool // the reader may change the project or something in it
	Leads                  bool // the reader may change the project itself
	Administers            bool
}

// createSample creates a story for examples that need one, if the reader has none.
const createSample = `{"@story": {"AssetType": "Story", "Name": "Pay by card", "Scope": "{project}", "Estimate": 3}},
 `

// examplesFor returns examples with Oids from the reader's own data.
func examplesFor(v *ui.Visit) ([]exampleGroup, error) {
	s, err := readExampleData(v)
	if err != nil {
		return nil, err
	}
	groups := []exampleGroup{{Title: "Queries", Examples: queryExamples}}
	if s.Writes {
		groups = append(groups, exampleGroup{Title: "Commands", Examples: commandExamples})
	}
	if s.Leads {
		groups = append(groups, exampleGroup{Title: "Projects", Examples: projectExamples})
	}
	if s.Administers {
		groups = append(groups, exampleGroup{Title: "Import", Examples: importExamples})
	}
	for i, g := range groups {
		filled := make([]exampleRequest, len(g.Examples))
		for k, e := range g.Examples {
			e.Request = s.fill(e.Request)
			params := []string{"request", e.Request}
			if e.Path != "" {
				params = append(params, "path", e.Path)
			}
			e.Link = v.Link("/ui/console", params...)
			filled[k] = e
		}
		groups[i].Examples = filled
	}
	return groups, nil
}

// readExampleData finds assets that the reader can change, or else a project that the reader
// sees.
func readExampleData(v *ui.Visit) (exampleData, error) {
	type row struct {
		Oid   string `json:"_oid"`
		Scope struct {
			Oid string `json:"_oid"`
		}
	}
	one := map[string]int{"size": 1}
	var stories, led, seen []row
	quiet := v.Quiet() // the reader did not ask for these queries, so the footer does not show them
	err := quiet.Find([]ui.Query{
		{"from": "Story", "filter": []string{"CanUpdate='true'", "AssetState='Active'", "Scope.AssetState='Active'"}, "select": []string{"Scope"}, "page": one},
		{"from": "Scope", "filter": []string{"CanUpdate='true'", "AssetState='Active'"}, "page": one},
		{"from": "Scope", "filter": []string{"AssetState='Active'"}, "page": one},
	}, &stories, &led, &seen)
	s := exampleData{Project: "Scope:0", Member: v.Member.Oid, Writes: len(stories)+len(led) > 0, Leads: len(led) > 0, Administers: v.Member.Administers()}
	switch {
	case len(stories) > 0:
		s.Story, s.Project = stories[0].Oid, stories[0].Scope.Oid
	case len(led) > 0:
		s.Project = led[0].Oid
	case len(seen) > 0:
		s.Project = seen[0].Oid
	}
	return s, err
}

// fill inserts Oids into an example. Without a story, the request first creates one.
func (s exampleData) fill(request string) string {
	story := s.Story
	if story == "" && strings.Contains(request, "{story}") {
		request, story = strings.Replace(request, "[", "["+createSample, 1), "@story"
	}
	return strings.NewReplacer("{project}", s.Project, "{story}", story, "{member}", s.Member,
		"{hour}", time.Now().UTC().Add(-time.Hour).Format("2006-01-02T15:04")).Replace(request)
}

// queryExamples read data.
var queryExamples = []exampleRequest{
	{Title: "Filter, columns, order, page", Request: `{"from": "Story",
 "where": {"Scope": "{project}"},
 "filter": ["AssetState='Active'"],
 "select": ["Number", "Name", "Status.Name", "Estimate", "Owners.Name"],
 "sort": ["-ChangeDate"],
 "page": {"size": 20},
 "total": true}`},
	{Title: "Text", Request: `{"from": "Workitem", "find": "pay", "findin": ["Name", "Description"], "select": ["Name", "Scope.Name"], "page": {"size": 20}}`},
	{Title: "Nested selects", Request: `{"from": "Story",
 "where": {"Scope": "{project}"},
 "select": ["Name", {"from": "Children", "select": ["Name", "AssetType"], "sort": ["Name"]}, {"from": "Owners", "select": ["Name"]}],
 "page": {"size": 20}}`},
	{Title: "Groups", Request: `{"from": "PrimaryWorkitem",
 "where": {"Scope": "{project}"},
 "select": ["Name", "Estimate"],
 "group": [{"from": "Status", "select": ["Name"]}],
 "page": {"size": 50}}`},
	{Title: "Counts and sums", Request: `{"from": "Scope",
 "select": ["Name", "Workitems:Story.@Count", "Workitems:Story[AssetState='Active'].Estimate.@Sum"],
 "page": {"size": 20}}`},
	{Title: "As it was an hour ago", Request: `{"from": "Story", "where": {"Scope": "{project}"}, "asof": "{hour}", "select": ["Name", "Status.Name"], "page": {"size": 20}}`},
	{Title: "All versions", Request: `{"from": "Story", "where": {"Scope": "{project}"}, "asof": "All", "select": ["Name", "ChangeDate", "ChangedBy.Name"], "page": {"size": 20}}`},
	{Title: "Pages by a cursor", Request: `{"from": "Story", "select": ["Name"], "sort": ["Name"], "page": {"size": 5, "after": ""}}`},
	{Title: "Variables", Request: `{"from": "Workitem",
 "filter": ["Scope=$Project", "Owners=$People"],
 "with": {"$Project": "{project}", "$People": ["{member}"]},
 "select": ["Name", "AssetType"],
 "page": {"size": 20}}`},
	{Title: "Two queries in YAML", Path: queryPath, Request: `from: Member
where: {IsSelf: true}
select: [Name, DefaultRole.Name]
---
from: Scope
select: [Name, Parent.Name]
page: {size: 20}
`},
}

// commandExamples write to a project.
var commandExamples = []exampleRequest{
	{Title: "Create", Request: `{"AssetType": "Story", "Name": "Pay by card", "Scope": "{project}", "Estimate": 3, "Owners": ["{member}"]}`},
	{Title: "Create in YAML", Request: `AssetType: Story
Name: Pay by card
Scope: "{project}"
Description: |
  <p>With every card that we take.</p>
`},
	{Title: "Create several, one within another", Request: `[
 {"@checkout": {"AssetType": "Epic", "Name": "Checkout", "Scope": "{project}", "Subs": [
   {"AssetType": "Story", "Name": "Pay by card", "Children": [{"AssetType": "Task", "Name": "Choose a provider"}, {"AssetType": "Test", "Name": "A card that has expired"}]}]}},
 {"AssetType": "Story", "Name": "Pay later", "Scope": "{project}", "Super": "@checkout"},
 {"from": "@checkout", "select": ["Name", "Subs.Name"]}
]`},
	{Title: "Create in a context", Request: `[{"AssetType": "Task", "Name": "Ask the bank", "#ContextOid": "{story}"}]`},
	{Title: "Update", Request: `[{"from": "{story}", "update": {"Estimate": 5, "Description": "<p>With every card that we take.</p>"}}]`},
	{Title: "Update what a query finds", Request: `[
 {"config": {"maxAffected": 100}},
 {"from": "Story", "where": {"Scope": "{project}"}, "filter": ["AssetState='Active'", "Estimate=''"], "update": {"Estimate": 1}}
]`},
	{Title: "Replace a part of a text", Request: `[{"from": "{story}", "update": {"Name": {"find": "card", "replace": "credit card"}}}]`},
	{Title: "Add to lists and remove from them", Request: `[{"from": "{story}", "update": {"Owners": {"add": ["{member}"], "remove": []}, "TaggedWith": {"add": ["money"], "remove": ["cash"]}}}]`},
	{Title: "A value that a query finds", Request: `[{"from": "{story}", "update": {"Owners": {"add": {"from": "Member", "where": {"IsSelf": true}}}}}]`},
	{Title: "Operation", Request: `[{"from": "{story}", "execute": "QuickSignup"}]`},
	{Title: "Copy and split", Request: `[
 {"from": "{story}", "execute": "Copy"},
 {"from": "{story}", "execute": "Split"}
]`},
	{Title: "Close, reopen, delete, undelete", Request: `[
 {"@trial": {"AssetType": "Story", "Name": "Trial", "Scope": "{project}"}},
 {"from": "@trial", "execute": "Close"},
 {"from": "@trial", "execute": "Reactivate"},
 {"from": "@trial", "execute": "Delete"},
 {"from": "@trial", "where": {"IsDeleted": true}, "execute": "Undelete"},
 {"from": "@trial", "select": ["Name", "AssetState"]}
]`},
	{Title: "All or nothing, counts alone", Request: `[
 {"config": ["atomic", "counts-only"]},
 {"AssetType": "Story", "Name": "Invoice", "Scope": "{project}"},
 {"AssetType": "Story", "Name": "Receipt", "Scope": "{project}"}
]`},
	{Title: "Write, then query", Request: `[
 {"@invoice": {"AssetType": "Story", "Name": "Invoice", "Scope": "{project}"}},
 {"from": "@invoice", "update": {"Estimate": 2}},
 {"from": "@invoice", "select": ["Number", "Name", "Estimate"]}
]`},
}

// projectExamples are for readers who can change projects.
var projectExamples = []exampleRequest{
	{Title: "Operation with arguments", Request: `[
 {"@trial": {"AssetType": "Scope", "Name": "Trial", "#ContextOid": "{project}"}},
 {"from": "@trial", "execute": {"op": "AssignMemberWithRole", "args": {"Member": "{member}", "Role": "Role:4", "IsOwner": false}}},
 {"from": "@trial", "execute": "Delete"}
]`},
	{Title: "Operation for each element of a list", Request: `[
 {"@trial": {"AssetType": "Scope", "Name": "Trial", "#ContextOid": "{project}"}},
 {"from": "@trial", "execute": {"op": "AssignMemberWithRole", "list": [{"Member": "{member}", "Role": "Role:4"}, {"Member": "{member}", "Role": "Role:8"}]}},
 {"from": "@trial", "execute": "Delete"}
]`},
}

// importExamples are for system administrators.
var importExamples = []exampleRequest{
	{Title: "Import with dates and authors", Request: `[
 {"config": "import"},
 {"@old": {"AssetType": "Story", "Name": "Wish list", "Scope": "{project}", "CreateDate": "2019-05-06T07:08:09Z", "CreatedBy": "{member}", "ChangeDate": "2020-01-01"}},
 {"from": "@old", "select": ["CreateDate", "CreatedBy", "ChangeDate"]}
]`},
}
