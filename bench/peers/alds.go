package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/bench/rig"
	"github.com/alds-dev/alds/internal/store/db"
)

// alds is the service of this repository. Its commands run as separate processes: standalone
// on SQLite, or api and worker on MariaDB or MySQL.
type alds struct {
	*rig.Site

	data     *data
	commands []string
	token    string
	projects []string // Oids; members and stories are also Oids
	members  []string
	stories  []string
}

// statusOIDs has the Oid of each entry in statuses.
var statusOIDs = []string{"StoryStatus:133", "StoryStatus:134", "StoryStatus:135", "StoryStatus:137"}

// object is a JSON object.
type object = map[string]any

// startALDS starts an installation and loads the data with bulk requests. mysql is the URL of
// a server; if it is empty, the installation uses SQLite.
func startALDS(ctx context.Context, mysql, redis string, d *data) (*alds, error) {
	commands := []string{"standalone"}
	if mysql != "" {
		commands = []string{"api", "worker"}
	}
	site, err := rig.NewSite(ctx, rig.SiteOptions{Name: "peers", MySQL: mysql, Redis: redis, Commands: commands, Silent: true})
	if err != nil {
		return nil, err
	}
	a := &alds{Site: site, data: d, commands: commands}
	var answer struct{ Token string }
	if err := site.Post("/api/tokens", object{"name": "bench"}, &answer); err != nil {
		return nil, errors.Join(err, site.Close())
	}
	a.token = answer.Token
	if err := a.load(ctx); err != nil {
		return nil, errors.Join(err, site.Close())
	}
	return a, nil
}

// firstPart is the number of stories that are loaded before the planner statistics are
// updated. Without statistics, SQLite sorts all stories whenever one story is ranked before
// another.
const firstPart = 10_000

func (a *alds) load(ctx context.Context) (err error) {
	var members, projects []object
	for i, name := range a.data.members {
		members = append(members, object{
			"AssetType": "Member", "Name": name, "Nickname": name, "Username": "m" + strconv.Itoa(i), "DefaultRole": "Role:4", "Scopes": []string{"Scope:0"},
		})
	}
	if a.members, err = a.Bulk(members); err != nil {
		return err
	}
	for _, name := range a.data.projects {
		projects = append(projects, object{"AssetType": "Scope", "Name": name, "Parent": "Scope:0", "BeginDate": "2026-01-01"})
	}
	if a.projects, err = a.Bulk(projects); err != nil {
		return err
	}
	for from := 0; from < len(a.data.stories); from += inOneAsk {
		if from == firstPart {
			if err := a.restart(ctx); err != nil {
				return err
			}
		}
		var commands []object
		for _, s := range a.data.stories[from:min(from+inOneAsk, len(a.data.stories))] {
			commands = append(commands, a.story(s))
		}
		made, err := a.Bulk(commands)
		if err != nil {
			return err
		}
		a.stories = append(a.stories, made...)
	}
	return nil
}

// story returns the command that creates a story.
func (a *alds) story(s story) object {
	o := object{
		"AssetType": "Story", "Name": s.name, "Description": s.description, "Scope": a.projects[s.project], "Status": statusOIDs[s.status],
	}
	if s.estimate > 0 {
		o["Estimate"] = s.estimate
	}
	if len(s.owners) > 0 {
		var owners []string
		for _, m := range s.owners {
			owners = append(owners, a.members[m])
		}
		o["Owners"] = owners
	}
	if s.before >= 0 {
		o["Order"] = object{"Before": a.stories[s.before]}
	}
	return o
}

func (a *alds) name() string    { return "alds" }
func (a *alds) addr() string    { return a.Addr }
func (a *alds) ids() []string   { return a.stories }
func (a *alds) close() error    { return a.Close() }
func (a *alds) lacks(kind) bool { return false }

func (a *alds) restart(ctx context.Context) error {
	if err := a.analyze(ctx); err != nil {
		return err
	}
	for _, name := range a.commands {
		a.Stop(name)
		if err := a.Start(name, name); err != nil {
			return err
		}
	}
	return a.Await(ctx)
}

// analyze updates the planner statistics, so that they are as current as in a database in use.
func (a *alds) analyze(ctx context.Context) error {
	if a.Admin == nil {
		return analyzeFile(ctx, strings.TrimPrefix(a.URL, "sqlite:"))
	}
	return a.Analyze(ctx)
}

// analyzeFile updates the planner statistics of a SQLite database.
func analyzeFile(ctx context.Context, path string) error {
	d, err := db.Open(ctx, "sqlite:"+filepath.ToSlash(path), db.Options{MaxConns: 1})
	if err != nil {
		return err
	}
	_, err = d.Exec(ctx, "ANALYZE")
	return errors.Join(err, d.Close())
}

const allNames = `"select": ["Name", "Estimate", "Scope.Name", "Status.Name", "Owners.Name"]`

func (a *alds) ask(q question) []byte {
	var body string
	byText := func(pattern string) string {
		return fmt.Sprintf(`{"from": "Story", "select": ["Name"], "where": {"Scope": %q}, "filter": ["Name~='%s'"], "sort": ["Order"], "page": {"start": 0, "size": %d}}`,
			a.projects[q.project], pattern, pageSize)
	}
	switch q.kind {
	case point:
		body = fmt.Sprintf(`{"from": %q, %s}`, q.id, allNames)
	case page:
		body = fmt.Sprintf(`{"from": "Story", %s, "where": {"Scope": %q, "Status": %q}, "sort": ["Order"], "page": {"start": 0, "size": %d}}`,
			allNames, a.projects[q.project], statusOIDs[q.status], pageSize)
	case count:
		body = fmt.Sprintf(`{"from": %q, "select": [%q]}`, a.projects[q.project], storyCount)
	case begins:
		body = byText(q.text + "%")
	case contains:
		body = byText(q.text)
	case sums:
		body = fmt.Sprintf(`{"from": "StoryStatus", "select": ["Name", %q]}`, sumToken(a.projects[q.project]))
	}
	return rig.Post("/alds/query.v1", a.token, body)
}

// storyCount is the token for the number of stories of a project that are not deleted.
const storyCount = "Workitems:Story[AssetState!='Dead'].@Count"

// sumToken returns a token of StoryStatus. Its value is the sum of the estimates of the project's
// stories with that status.
func sumToken(project string) string {
	return "PrimaryWorkitems:Story[Scope='" + project + "';AssetState!='Dead'].Estimate.@Sum"
}

func (a *alds) read(q question, body []byte) (answer, error) {
	var results [][]map[string]json.RawMessage
	if err := json.Unmarshal(body, &results); err != nil {
		return answer{}, err
	}
	if len(results) != 1 {
		return answer{}, fmt.Errorf("%d results", len(results))
	}
	var got answer
	for _, o := range results[0] {
		var r row
		var owners []string
		var sum json.RawMessage
		for name, raw := range o {
			var err error
			switch name {
			case "_oid":
				err = json.Unmarshal(raw, &r.id)
			case "Name":
				err = json.Unmarshal(raw, &r.name)
			case "Scope.Name":
				err = json.Unmarshal(raw, &r.project)
			case "Status.Name":
				err = json.Unmarshal(raw, &r.status)
			case "Owners.Name":
				err = json.Unmarshal(raw, &owners)
			case storyCount:
				var n float64
				n, err = number(raw)
				got.count = int(n)
			case "Estimate":
				r.estimate, err = number(raw)
			default:
				sum = raw
			}
			if err != nil {
				return answer{}, fmt.Errorf("%s: %w", name, err)
			}
		}
		r.owners = joined(owners)
		switch q.kind {
		case count:
		case sums:
			if err := got.addSum(r.name, sum); err != nil {
				return answer{}, err
			}
		default:
			got.rows = append(got.rows, r)
		}
	}
	return got, nil
}

// encode returns the JSON of a value. It panics if the value cannot be encoded.
func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (a *alds) create(stories []story) []byte {
	var commands []object
	for _, s := range stories {
		commands = append(commands, a.story(s))
	}
	return rig.Post("/alds/api/asset", a.token, encode(commands))
}

// done is the answer to a bulk request.
type done struct {
	AssetsCreated, AssetsModified struct{ OidTokens []string }
	CommandFailures               struct {
		Count    int
		Commands []json.RawMessage
	}
}

func (a *alds) done(body []byte) (d done, err error) {
	if err := json.Unmarshal(body, &d); err != nil {
		return d, err
	}
	if f := d.CommandFailures; f.Count > 0 {
		return d, fmt.Errorf("%d commands failed", f.Count)
	}
	return d, nil
}

func (a *alds) created(body []byte, _ int) ([]string, error) {
	d, err := a.done(body)
	return d.AssetsCreated.OidTokens, err
}

// file returns an import request. Each story has its dates and author, as in a real import.
func (a *alds) file(stories []story) []byte {
	commands := []object{{"config": "import"}}
	for _, s := range stories {
		o := a.story(s)
		o["CreateDate"], o["CreatedBy"], o["ChangeDate"] = "2025-02-03T04:05:06Z", a.members[0], "2025-03-04"
		commands = append(commands, o)
	}
	return rig.Post("/alds/api/asset", a.token, encode(commands))
}

func (a *alds) taken(body []byte, n int) error {
	d, err := a.done(body)
	if err == nil && len(d.AssetsCreated.OidTokens) != n {
		err = fmt.Errorf("%d of %d were imported", len(d.AssetsCreated.OidTokens), n)
	}
	return err
}

func (a *alds) change(id string, estimate int) []byte {
	return rig.Post("/alds/api/asset", a.token, fmt.Sprintf(`{"from": %q, "update": {"Estimate": %d}}`, id, estimate))
}

func (a *alds) changed(body []byte, id string, _ int) error {
	d, err := a.done(body)
	if err == nil && (len(d.AssetsModified.OidTokens) != 1 || d.AssetsModified.OidTokens[0] != id) {
		err = fmt.Errorf("modified %v, want %s", d.AssetsModified.OidTokens, id)
	}
	return err
}
