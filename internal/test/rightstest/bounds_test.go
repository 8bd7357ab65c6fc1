package rightstest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/httpapi"
)

// boundTokens are access tokens of the administrator, in the order of the results in boundRows.
var boundTokens = []struct{ name, bounds string }{
	{"reads", `{"writes": "none"}`},
	{"plans", `{"writes": "plans"}`},
	{"keeps", `{"deletes": false}`},
	{"project", `{"projects": ["{inside}"]}`},
	{"type", `{"types": ["Story"]}`},
	{"away", `{"addresses": ["192.0.2.1"]}`},
	{"proposes", `{"writes": "proposals"}`},
}

// boundRows has the requests that are sent with each of boundTokens: at least one for each route and
// method. want has the statuses of the answers. If a status is followed by a minus, the answer must
// not contain the word of the row's asset, which is then hidden.
//
// Placeholders stand for new assets, for each request: {story} inside the project of the token {other}
// in another project, {defect} inside, {write} the id of a request that changed {story}.
var boundRows = []struct{ route, path, body, want string }{
	{"POST api/asset", "api/asset?atomic=true", `{"from": "{story}", "update": {"Name": "new"}}`, "403 403 200 200 200 401 403"},
	{"POST api/asset", "api/asset?plan={plan of story}", ``, "403 200 200 200 200 401 403"},
	{"POST api/asset", "api/asset?plan={plan of deletion}", ``, "403 200 404 200 200 401 403"},
	{"POST api/asset", "api/asset?previewOnly=true", `{"from": "{story}", "update": {"Name": "new"}}`, "200 200 200 200 200 401 200"},
	{"GET api/plans/:id", "api/plans/{plan of story}", ``, "200 200 200 200 200 401 200"},
	{"GET api/asset/:requestId", "api/asset/{later}", ``, "404 404 404 404 404 401 404"},
	{"POST api/undo", "api/undo", `{"requestId": "{write}"}`, "403 403 200 200 200 401 403"},
	{"POST api/undo", "api/undo", `{"requestId": "{creation}"}`, "403 403 403 200 200 401 403"},
	{"POST api/undo", "api/undo", `{"requestId": "{write of other}"}`, "403 403 200 409 200 401 403"},
	{"POST api/undo", "api/undo", `{"requestId": "{write of defect}"}`, "403 403 200 200 409 401 403"},
	{"POST api/proposals", "api/proposals", `{"plan": "{plan of story}", "name": "p", "scope": "{inside}"}`, "403 200 200 200 403 401 200"},
	{"POST api/proposals", "api/proposals", `{"plan": "{plan of story}", "name": "p", "scope": "{outside}"}`, "403 200 200 400 403 401 200"},
	{"GET api/proposals/:oid", "api/proposals/{proposal of other}", ``, "200 200 200 404 404 401 200"},
	{"POST api/proposals/:oid", "api/proposals/{proposal of other}", ``, "403 200 200 404 404 401 200"},
	{"POST query.v1", "query.v1", `{"from": "{story}", "select": ["Name"]}`, "200 200 200 200 200 401 200"},
	{"POST query.v1", "query.v1", `{"from": "{other}", "select": ["Name"]}`, "200 200 200 200- 200 401 200"},
	{"POST query.v1", "query.v1", `{"from": "{defect}", "select": ["Name"]}`, "200 200 200 200 200- 401 200"},
	{"GET query.v1", "query.v1?query=", ``, "400 400 400 400 400 401 400"},
	{"SEARCH query.v1", "query.v1", `{"from": "{other}", "select": ["Name"]}`, "200 200 200 200- 200 401 200"},

	{"GET rest-1.v1/Data/:type", "rest-1.v1/Data/Story?sel=Name", ``, "200 200 200 200 200 401 200"},
	{"GET rest-1.v1/Data/:type/:id", "rest-1.v1/Data/{path of story}", ``, "200 200 200 200 200 401 200"},
	{"GET rest-1.v1/Data/:type/:id", "rest-1.v1/Data/{path of other}", ``, "200 200 200 404 200 401 200"},
	{"GET rest-1.v1/Data/:type/:id", "rest-1.v1/Data/{path of defect}", ``, "200 200 200 200 404 401 200"},
	{"GET rest-1.v1/Data/:type/:id/*attr", "rest-1.v1/Data/{path of other}/Name", ``, "200 200 200 404 200 401 200"},
	{"POST rest-1.v1/Data/:type", "rest-1.v1/Data/Story", `{"Attributes": {"Name": {"act": "set", "value": "new"}, "Scope": {"act": "set", "value": "{inside}"}}}`, "403 403 200 200 200 401 403"},
	{"POST rest-1.v1/Data/:type", "rest-1.v1/Data/Story", `{"Attributes": {"Name": {"act": "set", "value": "new"}, "Scope": {"act": "set", "value": "{outside}"}}}`, "403 403 200 400 200 401 403"},
	{"POST rest-1.v1/Data/:type", "rest-1.v1/Data/Defect", `{"Attributes": {"Name": {"act": "set", "value": "new"}, "Scope": {"act": "set", "value": "{inside}"}}}`, "403 403 200 200 403 401 403"},
	{"POST rest-1.v1/Data/:type", "rest-1.v1/Data/StoryStatus", `{"Attributes": {"Name": {"act": "set", "value": "new"}}}`, "403 403 403 403 403 401 403"},
	{"POST rest-1.v1/Data/:type", "rest-1.v1/Data/Scope", `{"Attributes": {"Name": {"act": "set", "value": "new"}, "BeginDate": {"act": "set", "value": "2026-01-01"}, "Parent": {"act": "set", "value": "{inside}"}}}`, "403 403 200 200 403 401 403"},
	{"POST rest-1.v1/Data/:type/:id", "rest-1.v1/Data/{path of story}", `{"Attributes": {"Name": {"act": "set", "value": "new"}}}`, "403 403 200 200 200 401 403"},
	{"POST rest-1.v1/Data/:type/:id", "rest-1.v1/Data/{path of other}", `{"Attributes": {"Name": {"act": "set", "value": "new"}}}`, "403 403 200 404 200 401 403"},
	{"POST rest-1.v1/Data/:type/:id", "rest-1.v1/Data/{path of defect}", `{"Attributes": {"Name": {"act": "set", "value": "new"}}}`, "403 403 200 200 404 401 403"},
	{"POST rest-1.v1/Data/:type/:id", "rest-1.v1/Data/{path of story}?op=Delete", ``, "403 403 403 200 200 401 403"},
	{"POST rest-1.v1/Data/:type/:id", "rest-1.v1/Data/{path of story}", `{"Attributes": {"Scope": {"act": "set", "value": "{outside}"}}}`, "403 403 200 400 200 401 403"},
	{"POST rest-1.v1/Data/:type/:id/*attr", "rest-1.v1/Data/{path of story}/Name", `new`, "405 405 405 405 405 401 405"},
	{"GET rest-1.v1/Hist/:type", "rest-1.v1/Hist/Story?where=Number='none'", ``, "200 200 200 200 200 401 200"},
	{"GET rest-1.v1/Hist/:type/:id", "rest-1.v1/Hist/{path of other}", ``, "200 200 200 404 200 401 200"},
	{"GET rest-1.v1/New/:type", "rest-1.v1/New/Story?ctx={other}", ``, "200 200 200 400 200 401 200"},
	{"GET meta.v1", "meta.v1", ``, "200 200 200 200 200 401 200"},
	{"GET meta.v1/:type", "meta.v1/Story", ``, "200 200 200 200 200 401 200"},
	{"GET meta.v1/:type/*attr", "meta.v1/Story/Name", ``, "200 200 200 200 200 401 200"},
	{"GET loc.v1", "loc.v1?AttributeDefinition'Name'Story", ``, "200 200 200 200 200 401 200"},
	{"GET loc-2.v1", "loc-2.v1", ``, "200 200 200 200 200 401 200"},
	{"GET config.v1", "config.v1", ``, "200 200 200 200 200 401 200"},
	{"GET assetdetail.v1", "assetdetail.v1?oid={other}", ``, "200 200 200 404 200 401 200"},
	{"GET api.xsl", "api.xsl", ``, "200 200 200 200 200 401 200"},
	{"GET api/localization", "api/localization", ``, "200 200 200 403 403 401 200"},
	{"POST api/localization", "api/localization", `{}`, "403 403 403 403 403 401 403"},
	{"GET attachment.img/:id", "attachment.img/{file of other}", ``, "200 200 200 404 404 401 200"},
	{"HEAD attachment.img/:id", "attachment.img/{file of other}", ``, "200 200 200 404 404 401 200"},
	{"POST attachment.img/:id", "attachment.img/{file of story}", `bytes`, "403 403 200 200 404 401 403"},
	{"GET embedded.img/:id", "embedded.img/{picture of other}", ``, "200 200 200 404 404 401 200"},
	{"HEAD embedded.img/:id", "embedded.img/{picture of other}", ``, "200 200 200 404 404 401 200"},
	{"POST embedded.img/:id", "embedded.img/{picture of story}", `bytes`, "403 403 200 200 404 401 403"},

	{"GET api/webhook", "api/webhook", ``, "200 200 200 403 403 401 200"},
	{"POST api/webhook", "api/webhook", `{hook}`, "403 403 403 403 403 401 403"},
	{"POST api/webhook/preview", "api/webhook/preview", `{hook}`, "200 200 200 403 403 401 200"},
	{"GET api/webhook/delivery/:id", "api/webhook/delivery/{uuid}", ``, "404 404 404 403 403 401 404"},
	{"GET api/webhook/status/:id", "api/webhook/status/{webhook}", ``, "200 200 200 403 403 401 200"},
	{"GET api/webhook/deliveries/:id", "api/webhook/deliveries/{webhook}", ``, "200 200 200 403 403 401 200"},
	{"POST api/webhook/delete/:id", "api/webhook/delete/{webhook}", ``, "403 403 403 403 403 401 403"},
	{"POST api/webhook/test/:id", "api/webhook/test/{webhook}", ``, "403 403 403 403 403 401 403"},
	{"POST api/webhook/redeliver/:id", "api/webhook/redeliver/{webhook}", `{}`, "403 403 403 403 403 401 403"},
	{"GET api/webhook/:id", "api/webhook/{webhook}", ``, "200 200 200 403 403 401 200"},
	{"POST api/webhook/:id", "api/webhook/{webhook}", `{"enabled": false}`, "403 403 403 403 403 401 403"},

	{"GET api/tokens", "api/tokens", ``, "200 200 200 200 200 401 200"},
	{"POST api/tokens", "api/tokens", `{"name": "more"}`, "403 403 403 403 403 401 403"},
	{"POST api/tokens/revoke/:id", "api/tokens/revoke/{token}", ``, "404 404 404 404 404 401 404"},

	{"GET api/ProjectRoles/ByProject", "api/ProjectRoles/ByProject", ``, "200 200 200 200- 200 401 200"},
	{"GET api/ProjectRoles/ByMember", "api/ProjectRoles/ByMember", ``, "200 200 200 200- 200 401 200"},
	{"GET api/ActivityStream/:oid", "api/ActivityStream/{other}", ``, "200 200 200 404 200 401 200"},
	{"GET api/ActivityStream/:oid", "api/ActivityStream/{defect}", ``, "200 200 200 200 404 401 200"},
	{"GET api/changes", "api/changes?from=Story&after={before other}", ``, "200 200 200 200- 200 401 200"},
	{"GET api/changes", "api/changes?from=Defect&after={before defect}", ``, "200 200 200 200 200- 401 200"},
	{"GET api/audit", "api/audit", ``, "200 200 200 200 200 401 200"},
	{"GET api/system", "api/system", ``, "200 200 200 403 403 401 200"},
	{"GET api/system/check", "api/system/check", ``, "200 200 200 403 403 401 200"},
	{"POST api/system/check", "api/system/check", ``, "403 403 403 403 403 401 403"},
	{"GET api/system/settings", "api/system/settings", ``, "200 200 200 403 403 401 200"},
	{"POST api/system/settings", "api/system/settings", `{}`, "403 403 403 403 403 401 403"},
	{"GET api/tags", "api/tags?tag={tag of other}", ``, "200 200 200 200 200 401 200"},
	{"GET api/tags/all", "api/tags/all?{other}", ``, "200 200 200 200- 200 401 200"},
	{"GET api/tags/command/search", "api/tags/command/search?term={tag of defect}", ``, "200 200 200 200 200- 401 200"},
	{"POST api/tags/command/merge", "api/tags/command/merge", `{"merge": ["a"], "into": "b"}`, "403 403 403 403 403 401 403"},
	{"POST api/tags/command/remove", "api/tags/command/remove", `{"removeFrom": ["a"]}`, "403 403 403 403 403 401 403"},
}

// TestBounds sends the requests of boundRows with each token. A route or an alias without a row fails the
// test. Spec: interface 5.10.
func TestBounds(t *testing.T) {
	w := &world{t: t, url: start(t, "sqlite"), rights: readTable(t)}
	b := &bounds{world: w, given: map[string]string{}}
	projects := b.must(
		attrs{"AssetType": "Scope", "Name": "inside", "Parent": "Scope:0", "BeginDate": "2026-01-01"},
		attrs{"AssetType": "Scope", "Name": "outside", "Parent": "Scope:0", "BeginDate": "2026-01-01"},
	).AssetsCreated.OidTokens
	b.given["inside"], b.given["outside"], b.given["hook"] = projects[0], projects[1], text(hook)
	b.given["webhook"], b.given["token"] = b.make("/api/webhook", b.given["hook"]).ID, b.make("/api/tokens", `{"name": "full"}`).ID
	b.given["uuid"] = "0c4f2c1e-7f3a-4a3e-9d53-1c2f6d6a7b11"
	for _, k := range boundTokens {
		b.tokens = append(b.tokens, b.make("/api/tokens", `{"name": "`+k.name+`", "bounds": `+strings.ReplaceAll(k.bounds, "{inside}", projects[0])+`}`).Token)
	}
	rows := map[string]bool{}
	for _, r := range boundRows {
		rows[r.route] = true
		for i, want := range strings.Fields(r.want) {
			b.compare(r.route, r.path, r.body, i, want)
		}
	}
	for _, r := range httpapi.Routes() {
		for _, m := range r.Methods {
			if !r.Alias && !rows[m+" "+r.Path] {
				t.Errorf("%s %s has no row", m, r.Path)
			}
		}
	}
}

type bounds struct {
	*world
	tokens []string
	given  map[string]string // values of placeholders for all requests
	n      int
}

// madeByAdmin is a token or a subscription that the administrator has made.
type madeByAdmin struct{ ID, Token string }

func (b *bounds) make(path, body string) (m madeByAdmin) {
	b.t.Helper()
	a := b.ask("admin", http.MethodPost, path, json.RawMessage(body))
	if err := json.Unmarshal(a.body, &m); err != nil || a.status != http.StatusOK {
		b.t.Fatalf("%s: %d %s", path, a.status, a.body)
	}
	return m
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// compare sends one request with a token and compares the status, and whether the answer shows the asset.
func (b *bounds) compare(route, path, body string, token int, want string) {
	b.t.Helper()
	f := &fresh{bounds: b, token: token, got: map[string]string{}}
	path, body = f.fill(path), f.fill(body)
	method, _, _ := strings.Cut(route, " ")
	a := b.bearer(b.tokens[token], method, path, body)
	status, hidden := strings.CutSuffix(want, "-")
	says := fmt.Sprintf("%s, %s %s %s: %d %.300s", boundTokens[token].name, method, path, body, a.status, a.body)
	if fmt.Sprint(a.status) != status {
		b.t.Errorf("%s; want %s", says, want)
	}
	if f.word != "" && status == "200" && strings.Contains(string(a.body), f.word) == hidden && (hidden || slices.Contains([]string{"POST query.v1", "GET api/changes"}, route)) {
		b.t.Errorf("%s; hidden must be %v", says, hidden)
	}
}

func (b *bounds) bearer(token, method, path, body string) answer {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.url+"/"+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "application/json")
	if strings.HasPrefix(body, "{") {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	a := answer{status: res.StatusCode, header: res.Header}
	if a.body, err = io.ReadAll(res.Body); err != nil {
		b.t.Fatal(err)
	}
	return a
}

// fresh makes the assets of the placeholders in one request.
type fresh struct {
	*bounds
	token int
	got   map[string]string // Oids by kind: story, other, defect
	word  string            // a word that only the last made asset has
	first string            // sequenceId of the last made asset
	id    string            // request that made it
}

func (f *fresh) fill(text string) string {
	for {
		i := strings.Index(text, "{")
		for i >= 0 && (i+1 == len(text) || text[i+1] < 'a' || text[i+1] > 'z') {
			next := strings.Index(text[i+1:], "{")
			if next < 0 {
				return text
			}
			i += 1 + next
		}
		if i < 0 {
			return text
		}
		name, rest, _ := strings.Cut(text[i+1:], "}")
		text = text[:i] + f.value(name) + rest
	}
}

func (f *fresh) value(name string) string {
	if v, ok := f.given[name]; ok {
		return v
	}
	what, kind, ok := strings.Cut(name, " of ")
	if before, found := strings.CutPrefix(name, "before "); found {
		what, kind, ok = "before", before, true
	}
	if !ok {
		what, kind = "", name
	}
	switch name {
	case "write", "creation", "later", "plan of deletion":
		what, kind = name, "story"
	}
	oid := f.asset(kind)
	change := attrs{"from": oid, "update": attrs{"Name": f.word + " changed"}}
	switch what {
	case "path":
		return strings.ReplaceAll(oid, ":", "/")
	case "plan":
		return f.plan(change)
	case "proposal":
		return f.proposal(change)
	case "plan of deletion":
		return f.plan(attrs{"from": oid, "execute": "Delete"})
	case "creation":
		return f.id
	case "write":
		return f.request(change)
	case "later":
		return f.request(change, "Prefer", "respond-async")
	case "tag":
		return f.word
	case "before":
		return f.first
	case "file":
		return f.part(attrs{"AssetType": "Attachment", "Name": "file", "Asset": oid, "Filename": "a.txt", "ContentType": "text/plain"})
	case "picture":
		return f.part(attrs{"AssetType": "EmbeddedImage", "Asset": oid, "ContentType": "image/png"})
	}
	return oid
}

// asset makes an asset of a kind, once for each request.
func (f *fresh) asset(kind string) string {
	f.t.Helper()
	if f.got[kind] == "" {
		f.n++
		f.word = fmt.Sprintf("word%d", f.n)
		in := map[string]string{"story": "inside", "other": "outside", "defect": "inside"}[kind]
		a := attrs{"AssetType": "Story", "Name": f.word, "Scope": f.given[in], "TaggedWith": []any{f.word}}
		if kind == "defect" {
			a["AssetType"] = "Defect"
		}
		f.first = f.newest()
		answer := f.ask("admin", http.MethodPost, "/api/asset", a)
		var made struct {
			RequestID     string `json:"requestId"`
			AssetsCreated struct{ OidTokens []string }
		}
		if err := json.Unmarshal(answer.body, &made); err != nil || len(made.AssetsCreated.OidTokens) != 1 {
			f.t.Fatalf("%s: %s", kind, answer.body)
		}
		f.id, f.got[kind] = made.RequestID, made.AssetsCreated.OidTokens[0]
	}
	return f.got[kind]
}

// newest returns the cursor after the newest change.
func (f *fresh) newest() string {
	f.t.Helper()
	var page struct{ Next string }
	a := f.ask("admin", http.MethodGet, "/api/changes", nil)
	if err := json.Unmarshal(a.body, &page); err != nil || page.Next == "" {
		f.t.Fatalf("the end of the feed: %s", a.body)
	}
	return url.QueryEscape(page.Next)
}

// proposal keeps a command of the administrator as a proposal and returns its Oid.
func (f *fresh) proposal(command attrs) string {
	f.t.Helper()
	var kept struct{ Plan, Proposal string }
	a := f.ask("admin", http.MethodPost, "/api/asset?previewOnly=true&plan=true", command)
	if err := json.Unmarshal(a.body, &kept); err == nil {
		a = f.ask("admin", http.MethodPost, "/api/proposals", attrs{"plan": kept.Plan, "name": "p", "scope": f.given["outside"]})
		_ = json.Unmarshal(a.body, &kept)
	}
	if kept.Proposal == "" {
		f.t.Fatalf("a proposal: %s", a.body)
	}
	return kept.Proposal
}

// request sends a command as the administrator and returns the id of the request.
func (f *fresh) request(command attrs, headers ...string) string {
	f.t.Helper()
	var sent struct {
		RequestID string `json:"requestId"`
	}
	a := f.ask("admin", http.MethodPost, "/api/asset", command, headers...)
	if err := json.Unmarshal(a.body, &sent); err != nil || sent.RequestID == "" {
		f.t.Fatalf("%s: %s", text(command), a.body)
	}
	return sent.RequestID
}

// plan makes a plan with the token. If the token may not make it, the result is an id that no plan has.
func (f *fresh) plan(command attrs) string {
	var p struct{ Plan string }
	_ = json.Unmarshal(f.bearer(f.tokens[f.token], http.MethodPost, "api/asset?previewOnly=true&plan=true", text(command)).body, &p)
	if p.Plan == "" {
		return f.given["uuid"]
	}
	return p.Plan
}

// part makes an asset that is attached to another, with content, and returns its number.
func (f *fresh) part(a attrs) string {
	f.t.Helper()
	oid := f.must(a).AssetsCreated.OidTokens[0]
	route := "attachment.img"
	if a["AssetType"] == "EmbeddedImage" {
		route = "embedded.img"
	}
	req, err := http.NewRequestWithContext(f.t.Context(), http.MethodPost, f.url+"/"+route+"/"+number(oid), strings.NewReader("bytes"))
	if err != nil {
		f.t.Fatal(err)
	}
	req.SetBasicAuth("admin", password)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		f.t.Fatalf("the content of %s: %d", oid, res.StatusCode)
	}
	return number(oid)
}
