package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/alds-dev/alds/bench/rig"
)

// work is one kind of request. Each repetition is for another project.
type work struct {
	name  string
	ask   func(w *world, r *rand.Rand, p *project) []byte
	every int // sent only once in this many repetitions; 0: every time
}

const columns = `"select": ["Name", "Number", "Estimate", "Status.Name", "Owners.Name"]`

func query(body string) func(w *world, _ *rand.Rand, p *project) []byte {
	return func(w *world, _ *rand.Rand, p *project) []byte {
		return rig.Post("/alds/query.v1", w.token, strings.ReplaceAll(body, "{project}", p.token))
	}
}

func bulk(w *world, command any) []byte {
	text, _ := json.Marshal(command) // cannot fail: the command has only maps and strings
	return rig.Post("/alds/api/asset", w.token, string(text))
}

func story(r *rand.Rand, p *project) string { return p.stories[r.IntN(len(p.stories))] }

// works are the most frequent queries and writes of clients.
var works = []work{
	{name: "page of 50 of a project", ask: query(`{"from": "Story", ` + columns + `, "where": {"Scope": "{project}"}, "sort": ["Order"], "page": {"start": 0, "size": 50}}`)},
	{name: "the tenth page of it", ask: query(`{"from": "Story", ` + columns + `, "where": {"Scope": "{project}"}, "sort": ["Order"], "page": {"start": 450, "size": 50}}`)},
	{name: "page of a project and a status", ask: query(`{"from": "Story", ` + columns + `, "where": {"Scope": "{project}", "Status": "StoryStatus:134"}, "sort": ["Order"], "page": {"start": 0, "size": 50}}`)},
	{name: "page with descriptions, by path", ask: func(w *world, _ *rand.Rand, p *project) []byte {
		return rig.Get("/alds/rest-1.v1/Data/Story?sel=Name,Description,Estimate&sort=Order&page=50&where="+url.QueryEscape("Scope='"+p.token+"'"), w.token)
	}},
	{name: "the same as XML", ask: func(w *world, _ *rand.Rand, p *project) []byte {
		return rig.GetXML("/alds/rest-1.v1/Data/Story?sel=Name,Description,Estimate&sort=Order&page=50&where="+url.QueryEscape("Scope='"+p.token+"'"), w.token)
	}},
	{name: "a story by path", ask: func(w *world, r *rand.Rand, p *project) []byte {
		return rig.Get("/alds/rest-1.v1/Data/"+strings.Replace(story(r, p), ":", "/", 1)+"?sel=Name,Number,Estimate,Scope.Name,Status.Name", w.token)
	}},
	{name: "a story with owners and tasks", ask: func(w *world, r *rand.Rand, p *project) []byte {
		return rig.Post("/alds/query.v1", w.token, `{"from": "`+story(r, p)+`", "select": ["Name", "Description", "Owners.Name", {"from": "Children:Task", "select": ["Name", "ToDo"]}]}`)
	}},
	{name: "a story by its number", ask: func(w *world, r *rand.Rand, p *project) []byte {
		return rig.Get("/alds/rest-1.v1/Data/Story?sel=Name&where="+url.QueryEscape(fmt.Sprintf("Number='S-%05d'", 1001+r.IntN(len(w.projects)*ofProject*8/10))), w.token)
	}},
	{name: "how many stories a project has", ask: func(w *world, _ *rand.Rand, p *project) []byte {
		return rig.Get("/alds/rest-1.v1/Data/Story?page=1&sel=Name&where="+url.QueryEscape("Scope='"+p.token+"'"), w.token)
	}},
	{name: "sum of a project's estimates", ask: query(`{"from": "{project}", "select": ["Name", "Workitems:PrimaryWorkitem.Estimate.@Sum"]}`)},
	{name: "epics with their stories", ask: query(`{"from": "Epic", "where": {"Scope": "{project}"}, "select": ["Name", {"from": "Subs:Story", "select": ["Name", "Estimate"]}], "page": {"start": 0, "size": 10}}`)},
	{name: "defects of a project by status", ask: query(`{"from": "Defect", ` + columns + `, "where": {"Scope": "{project}"}, "sort": ["Status.Order"], "page": {"start": 0, "size": 50}}`)},
	{name: "page of a program", ask: func(w *world, _ *rand.Rand, p *project) []byte {
		return rig.Post("/alds/query.v1", w.token, `{"from": "Story", "select": ["Name", "Scope.Name"], "filter": ["Scope.ParentMeAndUp='`+p.program+`'"], "sort": ["Order"], "page": {"start": 0, "size": 50}}`)
	}},
	{name: "a member's tasks of a project", ask: func(w *world, r *rand.Rand, p *project) []byte {
		return rig.Post("/alds/query.v1", w.token, `{"from": "Task", "select": ["Name", "ToDo", "Parent.Name"], "where": {"Scope": "`+p.token+`", "Owners": "`+w.members[r.IntN(members)]+`"}}`)
	}},
	{name: "a member's stories, the first 50", ask: func(w *world, r *rand.Rand, _ *project) []byte {
		return rig.Post("/alds/query.v1", w.token, `{"from": "Story", "select": ["Name", "Scope.Name"], "where": {"Owners": "`+w.members[r.IntN(members)]+`"}, "sort": ["Order"], "page": {"start": 0, "size": 50}}`)
	}},
	{name: "the first 50 of all that a member of 30 projects sees", ask: func(w *world, _ *rand.Rand, _ *project) []byte {
		return rig.Post("/alds/query.v1", w.reader, `{"from": "Story", "select": ["Name", "Scope.Name"], "sort": ["Order"], "page": {"start": 0, "size": 50}}`)
	}},
	{name: "what changed last in a project", ask: query(`{"from": "PrimaryWorkitem", "select": ["Name", "ChangeDateUTC", "ChangedBy.Name"], "where": {"Scope": "{project}"}, "sort": ["-ChangeDateUTC"], "page": {"start": 0, "size": 25}}`)},
	{name: "a word in the names of a project", ask: query(`{"from": "Story", "select": ["Name"], "where": {"Scope": "{project}"}, "find": "import", "findin": ["Name"], "page": {"start": 0, "size": 50}}`)},
	{name: "page of a project as of an hour or so ago", ask: func(w *world, _ *rand.Rand, p *project) []byte {
		return rig.Post("/alds/query.v1", w.token, `{"from": "Story", `+columns+`, "where": {"Scope": "`+p.token+`"}, "sort": ["Order"], "page": {"start": 0, "size": 50}, "asof": "`+w.middle.UTC().Format("2006-01-02T15:04:05.000Z")+`"}`)
	}},
	{name: "history of a story", ask: func(w *world, r *rand.Rand, p *project) []byte {
		return rig.Get("/alds/rest-1.v1/Hist/"+strings.Replace(story(r, p), ":", "/", 1)+"?sel=Name,Estimate,ChangeDate", w.token)
	}},
	{name: "activity of a project", ask: func(w *world, _ *rand.Rand, p *project) []byte {
		return rig.Get("/alds/api/ActivityStream/"+p.token, w.token)
	}},
	{name: "how many stories there are", every: 20, ask: func(w *world, _ *rand.Rand, _ *project) []byte {
		return rig.Get("/alds/rest-1.v1/Data/Story?page=1&sel=Name", w.token)
	}},
	{name: "a word in all names, the first 50", every: 20, ask: func(w *world, _ *rand.Rand, _ *project) []byte {
		return rig.Post("/alds/query.v1", w.token, `{"from": "Story", "select": ["Name"], "find": "zeitgeist", "findin": ["Name"], "page": {"start": 0, "size": 50}}`)
	}},

	{name: "write: a story", ask: func(w *world, r *rand.Rand, p *project) []byte {
		t := w.texts[r.IntN(len(w.texts))]
		return bulk(w, map[string]any{"AssetType": "Story", "Name": t.Name, "Description": t.Description, "Scope": p.token, "Estimate": 3})
	}},
	{name: "write: a task", ask: func(w *world, r *rand.Rand, p *project) []byte {
		return bulk(w, map[string]any{"AssetType": "Task", "Name": "T", "Parent": story(r, p)})
	}},
	{name: "write: an estimate", ask: func(w *world, r *rand.Rand, p *project) []byte {
		return bulk(w, map[string]any{"from": story(r, p), "update": map[string]any{"Estimate": r.IntN(1000)}})
	}},
	{name: "write: a status by path", ask: func(w *world, r *rand.Rand, p *project) []byte {
		body := fmt.Sprintf(`{"Attributes": {"Status": {"value": "StoryStatus:%d", "act": "set"}}}`, 133+r.IntN(3))
		return rig.Post("/alds/rest-1.v1/Data/"+strings.Replace(story(r, p), ":", "/", 1), w.token, body)
	}},
	{name: "write: an owner", ask: func(w *world, r *rand.Rand, p *project) []byte {
		return bulk(w, map[string]any{"from": story(r, p), "update": map[string]any{"Owners": map[string]any{"add": []string{w.members[r.IntN(members)]}}}})
	}},
	{name: "write: a story before another", ask: func(w *world, r *rand.Rand, p *project) []byte {
		return bulk(w, map[string]any{"from": p.stories[0], "update": map[string]any{"Order": map[string]any{"Before": p.stories[1+r.IntN(len(p.stories)-1)]}}})
	}},
	{name: "write: 500 stories in a request", every: 6, ask: func(w *world, r *rand.Rand, p *project) []byte {
		return bulk(w, list(500, func(int) any {
			t := w.texts[r.IntN(len(w.texts))]
			return map[string]any{"AssetType": "Story", "Name": t.Name, "Description": t.Description, "Scope": p.token}
		}))
	}},
}

// result has the median and the 95th percentile for each element of works, in ms.
type result []struct{ median, slow float64 }

// measure sends each kind of request several times.
func (w *world) measure(ctx context.Context, goes int) (result, error) {
	var err error
	if w.token, w.reader, err = w.readers(ctx); err != nil {
		return nil, err
	}
	conn, err := rig.Dial(w.Addr)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	all := make(result, len(works))
	for i, x := range works {
		r := rand.New(rand.NewPCG(uint64(i), 3)) //nolint:gosec // the same each time
		n := max(3, goes/max(1, x.every))
		var took []float64
		for range n + 1 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			ask := x.ask(w, r, &w.projects[r.IntN(len(w.projects))])
			began := time.Now()
			if _, err := conn.Ask(ask); err != nil {
				return nil, fmt.Errorf("%s: %w", x.name, err)
			}
			took = append(took, float64(time.Since(began).Microseconds())/1000)
		}
		took = took[1:] // the first request prepares statements
		slices.Sort(took)
		all[i].median, all[i].slow = took[len(took)/2], took[len(took)*19/20]
	}
	return all, nil
}

// readers returns access tokens of an administrator and of a member of thirty projects.
func (w *world) readers(ctx context.Context) (admin, reader string, err error) {
	if w.token != "" {
		return w.token, w.reader, nil
	}
	var scopes []string
	for i := range min(30, len(w.projects)) {
		scopes = append(scopes, w.projects[i*len(w.projects)/min(30, len(w.projects))].token)
	}
	if _, err := w.Bulk([]any{map[string]any{"from": w.members[0], "update": map[string]any{"Scopes": map[string]any{"add": scopes}}}}); err != nil {
		return "", "", err
	}
	if admin, err = rig.Token(ctx, w.db, "admin"); err == nil {
		reader, err = rig.Token(ctx, w.db, "m0")
	}
	return admin, reader, err
}

// table prints the results, with the growth from the first to the last size.
func table(out io.Writer, at []int, results []result) {
	head, line := "| work |", "|---|"
	for _, n := range at {
		head += fmt.Sprintf(" %d assets, ms | slowest of 20 |", n)
		line += "---|---|"
	}
	fmt.Fprintf(out, "\n%s growth |\n%s---|\n", head, line)
	for i, x := range works {
		fmt.Fprintf(out, "| %s |", x.name)
		for _, r := range results {
			fmt.Fprintf(out, " %.2f | %.2f |", r[i].median, r[i].slow)
		}
		fmt.Fprintf(out, " %.2f |\n", results[len(results)-1][i].median/results[0][i].median)
	}
}
