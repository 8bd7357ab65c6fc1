package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// token is what an access token may do. The zero value is the password of a member, which may do
// all that the member may.
type token struct {
	ID      string
	Name    string
	Current bool
	Expires *string
	Bounds  *bounds
}

// bounds are the bounds of a token. Spec: interface 5.10.
type bounds struct {
	Writes    string
	Deletes   *bool
	Projects  []string
	Types     []string
	Addresses []string
	Changes   int
	Hourly    int
}

// token returns the access token of the call.
func (c *client) token() (token, error) {
	var all struct{ Tokens []token }
	if _, err := c.get("api/tokens", &all); err != nil {
		return token{}, err
	}
	for _, t := range all.Tokens {
		if t.Current {
			return t, nil
		}
	}
	return token{}, nil
}

// mayUse reports whether a token may use a tool.
func (t *token) mayUse(tool string) bool {
	writes := ""
	if t.Bounds != nil {
		writes = t.Bounds.Writes
	}
	switch tool {
	case applies:
		return writes != "none" && writes != "proposals"
	case proposes:
		return writes == "proposals"
	}
	return true
}

// words returns what the token may do.
func (t *token) words() string {
	if t.ID == "" {
		return "Signed in with the password: you may do what your member may."
	}
	parts := []string{"Token " + oneLine(t.Name) + " (" + t.ID + ")"}
	if t.Expires != nil {
		parts = append(parts, "expires "+*t.Expires)
	} else {
		parts = append(parts, "never expires")
	}
	b := t.Bounds
	if b == nil {
		return strings.Join(append(parts, "may do what its member may"), "; ") + "."
	}
	switch b.Writes {
	case "none":
		parts = append(parts, "only reads")
	case "plans":
		parts = append(parts, "writes only by apply")
	case "proposals":
		parts = append(parts, "writes only by propose")
	default:
		parts = append(parts, "writes")
	}
	if b.Deletes != nil && !*b.Deletes {
		parts = append(parts, "deletes nothing")
	}
	for _, of := range []struct {
		what string
		list []string
	}{{"projects", b.Projects}, {"types", b.Types}, {"addresses", b.Addresses}} {
		if len(of.list) > 0 {
			parts = append(parts, "only "+of.what+" "+strings.Join(of.list, ", "))
		}
	}
	if b.Changes > 0 {
		parts = append(parts, "at most "+plural(b.Changes, "change")+" with one apply")
	}
	if b.Hourly > 0 {
		parts = append(parts, "at most "+plural(b.Hourly, "change")+" in an hour")
	}
	return strings.Join(parts, "; ") + "."
}

// Limits of the lists in the tool context.
const (
	maxProjects = 200
	maxOwn      = 50 // sprints, teams and projects of one project
	maxListed   = 300
)

func runContext(c *call, arguments json.RawMessage) (*sdk.CallToolResult, error) {
	var a struct{ Project string }
	if err := decode(arguments, &a); err != nil {
		return nil, err
	}
	l := &lines{}
	if a.Project != "" {
		return c.project(l, a.Project)
	}
	own, err := c.token()
	if err != nil {
		return nil, err
	}
	found, pages, err := c.find(
		asked{"from": "Member", "select": []string{"Name", "Username", "DefaultRole.Name"}, "where": asked{"IsSelf": true}},
		asked{"from": "Scope", "select": []string{"Name", "Parent"}, "where": asked{"AssetState": "Active"}, "sort": []string{"Name"}, "page": asked{"size": maxProjects, "start": 0}, "total": true},
	)
	if err != nil {
		return nil, err
	}
	for _, r := range found[0] {
		l.add(fmt.Sprintf("You are %s: %s (%s).", r.oid(), r.text("Name"), r.text("Username")))
	}
	l.add(own.words())
	total := len(found[1])
	if len(pages) > 1 && pages[1].Total != nil {
		total = *pages[1].Total
	}
	l.add(plural(total, "project"), ":")
	l.add(marked)
	tableOf([]string{"Name", "Parent"}, found[1]).print(l)
	if l.full || total > len(found[1]) {
		l.end("There are more: query from Scope.")
	}
	return answered(l), nil
}

// project shows what a project has.
func (c *call) project(l *lines, name string) (*sdk.CallToolResult, error) {
	of := asked{"from": "Scope", "select": []string{"Name", "Parent", "Description"}, "where": asked{"Name": name}}
	if isOID(name) {
		of = asked{"from": name, "select": of["select"]}
	}
	found, _, err := c.find(of)
	if err != nil {
		return nil, err
	}
	switch len(found[0]) {
	case 0:
		return nil, refusef("You see no project %q", name)
	case 1:
	default:
		l.add("Several projects have this name. Call again with the Oid of one:")
		l.add(marked)
		tableOf([]string{"Name", "Parent"}, found[0]).print(l)
		return answered(l), nil
	}
	oid := found[0][0].oid()
	some := asked{"size": maxOwn, "start": 0}
	with := asked{"$Project": oid}
	found2, _, err := c.find(
		asked{"from": "Timebox", "select": []string{"Name", "State.Name", "BeginDate", "EndDate"}, "filter": []string{"Schedule.ScheduledScopes=$Project"}, "with": with, "sort": []string{"-EndDate"}, "page": some},
		asked{"from": "Team", "select": []string{"Name"}, "where": asked{"AssetState": "Active"}, "page": some},
		asked{"from": "Member", "select": []string{"Name", "Username"}, "filter": []string{"Scopes=$Project", "AssetState='Active'"}, "with": with, "page": asked{"size": maxListed, "start": 0}},
		asked{"from": "Scope", "select": []string{"Name"}, "where": asked{"Parent": oid, "AssetState": "Active"}, "page": some},
		asked{"from": "List", "select": []string{"AssetType", "Name"}, "where": asked{"AssetState": "Active"}, "sort": []string{"AssetType", "Order"}, "page": asked{"size": maxListed, "start": 0}},
	)
	if err != nil {
		return nil, err
	}
	l.add(marked)
	tableOf([]string{"Name", "Parent", "Description"}, found[0]).print(l)
	for i, of := range []struct {
		title   string
		columns []string
	}{
		{"Sprints (Timebox), newest first", []string{"Name", "State.Name", "BeginDate", "EndDate"}},
		{"Teams", []string{"Name"}},
		{"Members", []string{"Name", "Username"}},
		{"Projects below", []string{"Name"}},
	} {
		if len(found2[i]) > 0 {
			more := ""
			if len(found2[i]) == maxOwn || len(found2[i]) == maxListed {
				more = ", the first ones"
			}
			l.add(of.title, more, ":")
			tableOf(of.columns, found2[i]).print(l)
		}
	}
	if lists := listValues(found2[4]); len(lists) > 0 {
		l.add("List values:")
		for _, line := range lists {
			l.add(line)
		}
	}
	if l.full {
		l.end("The answer is cut: query what is missing.")
	}
	return answered(l), nil
}

// listValues returns a line for each list: its type and its values.
func listValues(rows []row) (found []string) {
	var types []string
	byType := map[string][]string{}
	for _, r := range rows {
		name := r.text("AssetType")
		if !slices.Contains(types, name) {
			types = append(types, name)
		}
		byType[name] = append(byType[name], r.text("Name"))
	}
	for _, name := range types {
		found = append(found, name+": "+strings.Join(byType[name], ", "))
	}
	return found
}
