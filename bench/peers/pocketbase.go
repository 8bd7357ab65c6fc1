package main

import (
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/alds-dev/alds/bench/rig"
)

// pocketBase is PocketBase on SQLite, with the collections of the folder pocketbase.
type pocketBase struct {
	process

	data     *data
	scratch  string
	version  string
	token    string
	projects []string // ids
	statuses []string
	members  []string
	stories  []string
}

// startPocketBase builds the program in source, starts it and loads the data with batches. If
// durable is true, each commit waits for the disk. This is not the default of PocketBase.
func startPocketBase(ctx context.Context, source string, durable bool, d *data) (p *pocketBase, err error) {
	p = &pocketBase{data: d}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if p.scratch, err = os.MkdirTemp("", "alds-bench"); err != nil {
		return p, err
	}
	if err = p.build(ctx, source); err != nil {
		return p, err
	}
	if p.process.addr, err = rig.FreeAddr(); err != nil {
		return p, err
	}
	p.dir, p.ready = p.scratch, "/api/health"
	if durable {
		p.env = []string{"SYNCHRONOUS=FULL"}
	}
	p.args = []string{"serve", "--dir", filepath.Join(p.scratch, "data"), "--http", p.process.addr}
	if err = p.start(ctx); err != nil {
		return p, err
	}
	return p, p.load()
}

func (p *pocketBase) build(ctx context.Context, source string) error {
	p.program = filepath.Join(p.scratch, "pocketbase")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", p.program, ".")
	cmd.Dir = source
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build PocketBase: %w\n%s", err, text)
	}
	info, err := buildinfo.ReadFile(p.program)
	if err != nil {
		return err
	}
	for _, m := range info.Deps {
		if m.Path == "github.com/pocketbase/pocketbase" {
			p.version = strings.TrimPrefix(m.Version, "v")
		}
	}
	return nil
}

func (p *pocketBase) load() (err error) {
	c, err := rig.Dial(p.process.addr)
	if err != nil {
		return err
	}
	defer c.Close()
	body, err := c.Ask(rig.Post("/api/collections/_superusers/auth-with-password", "",
		encode(object{"identity": "admin@example.com", "password": rig.Password})))
	if err != nil {
		return err
	}
	var login struct{ Token string }
	if err := json.Unmarshal(body, &login); err != nil {
		return err
	}
	p.token = login.Token
	for _, list := range []struct {
		collection string
		names      []string
		ids        *[]string
	}{{"project", p.data.projects, &p.projects}, {"status", statuses, &p.statuses}, {"member", p.data.members, &p.members}} {
		var records []object
		for _, name := range list.names {
			records = append(records, object{"name": name})
		}
		if *list.ids, err = p.add(c, list.collection, records); err != nil {
			return err
		}
	}
	for from := 0; from < len(p.data.stories); from += inOneAsk {
		var records []object
		for _, s := range p.data.stories[from:min(from+inOneAsk, len(p.data.stories))] {
			records = append(records, p.story(s))
		}
		made, err := p.add(c, "story", records)
		if err != nil {
			return err
		}
		p.stories = append(p.stories, made...)
	}
	return nil
}

func (p *pocketBase) add(c *rig.Conn, collection string, records []object) ([]string, error) {
	body, err := c.Ask(p.batch(collection, records))
	if err != nil {
		return nil, err
	}
	return p.created(body, len(records))
}

// batch returns a request that creates records in one transaction.
func (p *pocketBase) batch(collection string, records []object) []byte {
	requests := make([]object, len(records))
	for i, r := range records {
		requests[i] = object{"method": http.MethodPost, "url": "/api/collections/" + collection + "/records?fields=id", "body": r}
	}
	return rig.Post("/api/batch", p.token, encode(object{"requests": requests}))
}

func (p *pocketBase) story(s story) object {
	o := object{
		"name": s.name, "description": s.description, "position": s.position, "project": p.projects[s.project], "status": p.statuses[s.status],
	}
	if s.estimate > 0 {
		o["estimate"] = s.estimate
	}
	var owners []string
	for _, m := range s.owners {
		owners = append(owners, p.members[m])
	}
	o["owners"] = owners
	return o
}

func (p *pocketBase) name() string  { return "PocketBase" }
func (p *pocketBase) addr() string  { return p.process.addr }
func (p *pocketBase) ids() []string { return p.stories }

// lacks returns true for imports, because PocketBase imports records only with batches.
func (p *pocketBase) lacks(k kind) bool { return k == imports }

func (p *pocketBase) restart(ctx context.Context) error {
	if err := analyzeFile(ctx, filepath.Join(p.scratch, "data", "data.db")); err != nil {
		return err
	}
	if err := p.stop(); err != nil {
		return err
	}
	return p.start(ctx)
}

func (p *pocketBase) close() error { return errors.Join(p.stop(), os.RemoveAll(p.scratch)) }

const (
	storyRecords = "/api/collections/story/records"
	expanded     = "&expand=project,status,owners&fields=id,name,estimate,expand.project.name,expand.status.name,expand.owners.name"
)

func (p *pocketBase) ask(q question) []byte {
	where := func(filter string, args ...any) string {
		return "filter=" + url.QueryEscape(fmt.Sprintf("project='%s'", p.projects[q.project])+fmt.Sprintf(filter, args...))
	}
	path := storyRecords
	switch q.kind {
	case point:
		path += "/" + q.id + "?" + expanded[1:]
	case page:
		path += fmt.Sprintf("?sort=position&perPage=%d&skipTotal=1&", pageSize) + where(" && status='%s'", p.statuses[q.status]) + expanded
	case count:
		path += "?perPage=1&fields=id&" + where("")
	case begins:
		path += fmt.Sprintf("?sort=position&perPage=%d&skipTotal=1&fields=id,name&", pageSize) + where(" && name~'%s%%'", q.text)
	case contains:
		path += fmt.Sprintf("?sort=position&perPage=%d&skipTotal=1&fields=id,name&", pageSize) + where(" && name~'%s'", q.text)
	case sums:
		path = "/api/collections/story_sum/records?skipTotal=1&expand=status&fields=total,expand.status.name&" + where("")
	}
	return rig.Get(path, p.token)
}

// record is a story, or a row of the view with sums.
type record struct {
	ID       string
	Name     string
	Estimate float64
	Total    json.RawMessage
	Expand   struct {
		Project, Status struct{ Name string }
		Owners          []struct{ Name string }
	}
}

func (r record) row() row {
	var owners []string
	for _, m := range r.Expand.Owners {
		owners = append(owners, m.Name)
	}
	return row{
		id: r.ID, name: r.Name, project: r.Expand.Project.Name, status: r.Expand.Status.Name, owners: joined(owners), estimate: r.Estimate,
	}
}

func (p *pocketBase) read(q question, body []byte) (got answer, err error) {
	if q.kind == point {
		var r record
		err := json.Unmarshal(body, &r)
		return answer{rows: []row{r.row()}}, err
	}
	var list struct {
		Items      []record
		TotalItems int
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return got, err
	}
	switch q.kind {
	case count:
		got.count = list.TotalItems
	case sums:
		for _, r := range list.Items {
			err = errors.Join(err, got.addSum(r.Expand.Status.Name, r.Total))
		}
	default:
		for _, r := range list.Items {
			got.rows = append(got.rows, r.row())
		}
	}
	return got, err
}

func (p *pocketBase) create(stories []story) []byte {
	if len(stories) == 1 {
		return rig.Post(storyRecords+"?fields=id", p.token, encode(p.story(stories[0])))
	}
	var records []object
	for _, s := range stories {
		records = append(records, p.story(s))
	}
	return p.batch("story", records)
}

func (p *pocketBase) created(body []byte, n int) ([]string, error) {
	if n == 1 {
		var r record
		err := json.Unmarshal(body, &r)
		return []string{r.ID}, err
	}
	var all []struct {
		Status int
		Body   record
	}
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, err
	}
	var ids []string
	for _, one := range all {
		if one.Status != http.StatusOK {
			return nil, fmt.Errorf("one request of the batch was answered %d", one.Status)
		}
		ids = append(ids, one.Body.ID)
	}
	return ids, nil
}

func (p *pocketBase) file([]story) []byte { return nil }

func (p *pocketBase) taken([]byte, int) error { return errors.ErrUnsupported }

func (p *pocketBase) change(id string, estimate int) []byte {
	return httpRequest(http.MethodPatch, storyRecords+"/"+id+"?fields=id,estimate", p.token, "application/json", encode(object{"estimate": estimate}))
}

func (p *pocketBase) changed(body []byte, id string, estimate int) error {
	var r record
	if err := json.Unmarshal(body, &r); err != nil {
		return err
	}
	if r.ID != id || r.Estimate != float64(estimate) {
		return fmt.Errorf("changed %s to %v, want %s and %d", r.ID, r.Estimate, id, estimate)
	}
	return nil
}
