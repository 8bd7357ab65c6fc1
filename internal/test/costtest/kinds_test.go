package costtest

import (
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/web/ui"
)

// kind is a kind of request. part is how often it is chosen, relative to the other kinds.
type kind struct {
	name string
	make func(g *maker) *request
	part int
}

// kinds are all kinds of requests.
var kinds = []kind{
	{"queries", (*maker).queries, 30},
	{"commands", (*maker).bulk, 40},
	{"products", (*maker).product, 40},
	{"assets by path", (*maker).readPath, 12},
	{"an attribute by path", (*maker).readAttr, 4},
	{"versions by path", (*maker).history, 5},
	{"templates", (*maker).template, 2},
	{"writes by path", (*maker).writePath, 8},
	{"operations by path", (*maker).operatePath, 3},
	{"metadata", (*maker).metadata, 3},
	{"localization", (*maker).localize, 3},
	{"texts", (*maker).texts, 2},
	{"tags", (*maker).tags, 5},
	{"webhooks", (*maker).webhook, 6},
	{"activity streams", (*maker).stream, 4},
	{"the feed", (*maker).feed, 3},
	{"roles", (*maker).roles, 2},
	{"the audit", (*maker).audit, 1},
	{"tokens", (*maker).tokens, 1},
	{"uploads", (*maker).upload, 2},
	{"pages", (*maker).page, 5},
	{"forms of pages", (*maker).pageForm, 5},
	{"the console", (*maker).console, 3},
	{"undos", (*maker).undo, 4},
	{"calls of agents", (*maker).agentCall, 12},
	{"proposals", (*maker).proposal, 5},
}

// request makes a request of a random kind. Its size is within the limits.
func (g *maker) request() *request {
	for {
		if r := g.ofAnyKind(); r.fit() {
			return r
		}
	}
}

// ofAnyKind makes a request of a random kind. Its size may be over the limits.
func (g *maker) ofAnyKind() *request {
	sum := 0
	for _, k := range kinds {
		sum += k.part
	}
	n := g.IntN(sum)
	for _, k := range kinds {
		if n -= k.part; n < 0 {
			r := k.make(g)
			r.kind, r.who = k.name, one(g, g.w.people)
			if g.chance(40) {
				r.who = "admin"
			}
			return r
		}
	}
	return nil
}

func get(path string, params dict) *request {
	return &request{method: "GET", path: path, params: params}
}

func post(path, form string, body any) *request {
	return &request{method: "POST", path: path, form: form, body: body, writes: true}
}

// jsonOrYAML chooses the media type of a body that may be JSON or YAML.
func (g *maker) jsonOrYAML() string {
	if g.chance(35) {
		return asYAML
	}
	return asJSON
}

func (g *maker) queries() *request {
	body := g.query()
	switch g.IntN(6) {
	case 0:
		body = many{g.count(3000), body, g.chance(50)}
	case 1:
		body = list(some(g, 4, g.query))
	}
	r := post("/query.v1", g.jsonOrYAML(), body)
	r.writes = false
	return r
}

func (g *maker) bulk() *request {
	r := post("/api/asset", g.jsonOrYAML(), g.commands())
	switch g.IntN(8) {
	case 0:
		r.params = dict{{"previewOnly", word("true")}, {"plan", word(g.oneOf("true false"))}}
	case 1:
		r.params = dict{{"atomic", word("true")}}
	case 2:
		r.params = dict{{"comment", g.text()}}
	case 3:
		r.header, r.later = dict{{"Prefer", word("respond-async")}}, true
	}
	return r
}

// selection makes the URL parameters of a read by path.
func (g *maker) selection(t string) (d dict) {
	typ, _ := model.Type(t)
	joined := func(most int, make func() text) text {
		if g.chance(20) {
			return again(make().String(), g.count(most), ",")
		}
		var all text
		for i := range g.few(8) {
			if i > 0 {
				all = and(all, word(","))
			}
			all = and(all, make())
		}
		return all
	}
	path := func(u use) func() text { return func() text { return g.path(typ, u) } }
	if g.chance(80) {
		d.set("sel", joined(500, path(shown)))
	}
	if g.chance(50) {
		d.set("where", g.filter(typ))
	}
	if g.chance(25) {
		d.set("sort", joined(500, func() text { return and(word(g.oneOf("+ -")), g.path(typ, sorted)) }))
	}
	if g.chance(20) {
		d.set("find", g.text())
	}
	if g.chance(15) {
		d.set("findin", joined(200, path(searched)))
	}
	if g.chance(90) {
		d.set("with", and(word("$oids="), again("Story:"+index, g.count(2000), ","), word(";$numbers="), again(index, g.count(2000), ","), word(";$texts="), again("a"+index, g.count(2000), ",")))
	}
	if g.chance(15) {
		d.set("page", word(g.oneOf("1 1000000,0 2147483647 10,1000000")))
	}
	if g.chance(15) {
		d.set("asof", word(g.oneOf("All 2026-11-27T00:00:00 2020-01-01")))
	}
	return d
}

func (g *maker) accepting(r *request) *request {
	if g.chance(40) {
		r.header = dict{{"Accept", word("text/xml")}}
	}
	return r
}

func (g *maker) readPath() *request {
	if g.chance(30) {
		o := g.oid(nil)
		return g.accepting(get("/rest-1.v1/Data/"+strings.ReplaceAll(o, ":", "/"), g.selection(typeOf(o).Name)))
	}
	t := g.typ().Name
	return g.accepting(get("/rest-1.v1/Data/"+t, g.selection(t)))
}

func (g *maker) readAttr() *request {
	o := g.oid(nil)
	path := g.path(typeOf(o), shown).String()
	return g.accepting(get("/rest-1.v1/Data/"+strings.ReplaceAll(o, ":", "/")+"/"+escaped(path), nil))
}

func (g *maker) history() *request {
	if g.chance(60) {
		o := g.oid(nil)
		return g.accepting(get("/rest-1.v1/Hist/"+strings.ReplaceAll(o, ":", "/"), g.selection(typeOf(o).Name)))
	}
	t := g.typ().Name
	return g.accepting(get("/rest-1.v1/Hist/"+t, g.selection(t)))
}

func (g *maker) template() *request {
	return g.accepting(get("/rest-1.v1/New/"+one(g, g.w.made), dict{{"ctx", word(g.oid(nil))}}))
}

func (g *maker) writePath() *request {
	if g.chance(50) {
		name := one(g, g.w.made)
		return post("/rest-1.v1/Data/"+name, g.oneOf(asXML+" "+asJSON), withoutType(g.asset(name)))
	}
	o := g.oid(nil)
	t := typeOf(o)
	var set dict
	for range g.few(4) {
		a := g.writable(t)
		set.set(a.Name, g.value(a))
		if a.Multi {
			set.set(a.Name, many{g.count(3000), g.value(a), false})
		}
	}
	r := post("/rest-1.v1/Data/"+strings.ReplaceAll(o, ":", "/"), asXML, set)
	if g.chance(30) {
		r.form, r.body = asJSON, asAttributes(set)
	}
	return r
}

// withoutType removes the type from a create command, because the path contains the type.
func withoutType(d dict) dict { return d[1:] }

// asAttributes makes the JSON body of a write by path.
func asAttributes(set dict) dict {
	var all dict
	for _, m := range set {
		switch v := m.Value.(type) {
		case many:
			all.set(m.Key, dict{{"_type", word("Relation")}, {"name", word(m.Key)}, {"value", many{v.N, dict{{"idref", v.Of}, {"act", word("add")}}, false}}})
		default:
			all.set(m.Key, dict{{"_type", word("Attribute")}, {"name", word(m.Key)}, {"act", word("set")}, {"value", v}})
		}
	}
	return dict{{"Attributes", all}}
}

func (g *maker) operatePath() *request {
	r := post("/rest-1.v1/Data/"+strings.ReplaceAll(g.oid(nil), ":", "/"), asJSON, dict{})
	r.params = dict{{"op", word(g.oneOf(operations))}}
	return r
}

func (g *maker) metadata() *request {
	path := "/meta.v1"
	if g.chance(50) {
		path += "/" + g.typ().Name
	}
	return g.accepting(get(path, dict{{"xsl", g.text()}}))
}

func (g *maker) localize() *request {
	tag := again("AttributeDefinition'Name'"+g.typ().Name+g.oneOf(" '"+index), g.count(1500), ",")
	if g.chance(40) {
		tag = and(word("Violation"), again("'Name", g.count(5000), ""))
	}
	r := get("/loc-2.v1/", dict{{"", and(word("["), tag, word("]"))}})
	if g.chance(30) {
		r = get("/loc.v1/", dict{{"", tag}})
	}
	r.header = dict{{"Accept-Language", again("de-AT;q=0."+index, g.count(3000), ",")}}
	return r
}

func (g *maker) texts() *request {
	return post("/api/localization", asJSON, many{g.count(1200), dict{{"tag", word("A'" + index)}, {"text", g.text()}}, false})
}

func (g *maker) tags() *request {
	tag := word(g.oneOf("tag tag1 tag" + index))
	switch g.IntN(5) {
	case 0:
		return get("/api/tags/all", nil)
	case 1:
		return get("/api/tags/command/search", dict{{"term", g.text()}})
	case 2:
		return post("/api/tags/command/merge", g.jsonOrYAML(), dict{{"MergeTo", g.text()}, {"MergeFrom", many{g.count(10_000), tag, false}}})
	case 3:
		return post("/api/tags/command/remove", g.jsonOrYAML(), dict{{"removeFrom", many{g.count(10_000), tag, false}}})
	}
	return get("/api/tags", dict{{"tag", g.text()}})
}

// webhook makes a request that creates, previews or uses webhook subscriptions. Nothing accepts connections
// at the URL of the subscriptions.
func (g *maker) webhook() *request {
	hook := one(g, g.w.hooks)
	t := g.typ()
	definition := dict{{"type", word("AssetChanged")}, {"from", word(t.Name)}, {"attributes", many{g.count(300), g.path(t, compared), g.chance(30)}}, {"filter", list{g.filter(t)}}, {"select", many{g.count(300), g.path(t, shown), g.chance(30)}}}
	body := dict{{"url", word("http://127.0.0.1:1/")}, {"description", g.text()}, {"eventTypes", many{g.count(120), definition, g.chance(50)}}}
	switch g.IntN(8) {
	case 0, 1:
		return post("/api/webhook", g.jsonOrYAML(), body)
	case 2, 3:
		return post("/api/webhook/preview", g.jsonOrYAML(), dict{{"eventTypes", body.get("eventTypes")}, {"page", g.count(1000)}})
	case 4:
		return post("/api/webhook/"+hook, asJSON, body)
	case 5:
		return post("/api/webhook/redeliver/"+hook, asJSON, dict{{"since", word("2026-01-01T00:00:00Z")}})
	case 6:
		return post("/api/webhook/test/"+hook, asJSON, dict{})
	}
	return get("/api/webhook/"+g.oneOf("deliveries/"+hook+" status/"+hook+" "+hook), dict{{"page", word(g.oneOf("1 1000000"))}})
}

func (g *maker) stream() *request {
	return get("/api/ActivityStream/"+g.oid(nil), dict{
		{"maxCount", word(g.oneOf("25 1000"))},
		{"direction", word(g.oneOf("Back Forward"))},
		{"anchorDate", word(g.oneOf("2026-01-01 2030-01-01"))},
		{"verbs", again(g.oneOf("Updated Created Moved"), g.count(3000), ",")},
		{"deleted", word(g.oneOf("true false"))},
	})
}

func (g *maker) feed() *request {
	d := dict{{"after", word(g.oneOf("0 0 1000"))}, {"page", word(g.oneOf("100 1000"))}}
	if g.chance(60) {
		t := g.typ()
		d = append(d, dict{{"from", word(t.Name)}, {"filter", g.filter(t)}, {"select", again(g.path(t, shown).String(), g.count(500), ",")}, {"with", and(word("$texts="), again("a"+index, g.count(5000), ","))}}...)
	}
	return get("/api/changes", d)
}

func (g *maker) roles() *request {
	name := g.oneOf("Scope Member")
	t, _ := model.Type(name)
	return get("/api/ProjectRoles/By"+map[string]string{"Scope": "Project", "Member": "Member"}[name], dict{{"where", g.filter(t)}})
}

func (g *maker) audit() *request {
	return get("/api/audit", dict{{"page", word(g.oneOf("25 1000"))}, {"kind", again("SignIn", g.count(3000), ",")}})
}

func (g *maker) tokens() *request {
	return post("/api/tokens", asJSON, dict{{"name", g.text()}})
}

func (g *maker) upload() *request {
	r := post("/attachment.img/"+strings.TrimPrefix(g.oid(nil), "Attachment:"), asFile, g.text())
	if all := g.w.oids["Attachment"]; len(all) > 0 && g.chance(70) {
		r.path = "/attachment.img/" + strings.TrimPrefix(one(g, all), "Attachment:")
	}
	return r
}

// page makes a request for a page of the user interface.
func (g *maker) page() *request {
	scope, story := one(g, g.w.oids["Scope"]), g.oid(nil)
	paths := []string{
		"/ui/projects", "/ui/project/" + scope, "/ui/project/" + scope + "/board", "/ui/project/" + scope + "/sprints", "/ui/project/" + scope + "/flow", "/ui/project/" + scope + "/proposals",
		"/ui/members", "/ui/members/roles", "/ui/members/audit", "/ui/members/" + one(g, g.w.oids["Member"]), "/ui/model", "/ui/model/" + g.typ().Name,
		"/ui/profile", "/ui/applications", "/ui/asset/" + story + "/totals", "/ui/console/names", "/ui/system", "/ui/webhooks", "/ui/webhooks/" + one(g, g.w.hooks), "/assetdetail.v1",
	}
	r := get(one(g, paths), dict{{"oid", word(story)}, {"find", g.text()}, {"from", word(g.oneOf("2020-01-01 1900-01-01 2026-11-01"))}, {"to", word(g.oneOf("2026-11-28 2100-01-01"))}, {"days", word(g.oneOf("1 1000000"))}, {"page", word(g.oneOf("1 1000000"))}})
	r.header = dict{{"Accept", word("text/html")}, {"Cookie", word("session")}}
	return r
}

// pageForm makes a request that sends a form of a page.
func (g *maker) pageForm() *request {
	scope, o := one(g, g.w.oids["Scope"]), g.oid(nil)
	t := typeOf(o)
	switch g.IntN(5) {
	case 0:
		return g.form("/ui/project/"+scope+"/add", dict{{"type", word("Story")}, {"name", g.text()}})
	case 1:
		return g.form("/ui/project/"+scope+"/rank", dict{{"item", word(o)}, {"place", word("before")}, {"target", word(g.oid(nil))}, {"return", g.text()}})
	case 2:
		return g.form("/ui/asset/"+o+"/run", dict{{"op", word(g.oneOf(operations))}})
	case 3:
		return g.form("/ui/profile", dict{{"name", g.text()}, {"email", g.text()}})
	}
	form := dict{{"moment", word(g.w.moments[o])}, {"comment", g.text()}}
	for range g.few(4) {
		a := g.writable(t)
		form.set("f."+a.Name, g.text())
		form.set("add."+a.Name, again(g.oneOf("tag"+index+" "+g.oid(a.Related)), g.count(10_000), "\n"))
	}
	return g.form("/ui/asset/"+o, form)
}

func (g *maker) console() *request {
	r := g.bulk()
	if g.chance(40) {
		r = g.queries()
	}
	r.params, r.header, r.later = nil, nil, false
	e := &encoder{yaml: r.form == asYAML, most: maxBody}
	e.value(r.body, "")
	return g.form("/ui/console", dict{{"request", word(e.String())}, {"path", word(r.path[1:])}, {"action", word(g.oneOf("run preview explain"))}})
}

// undo makes an undo. Undos of whole writes are only previews, because they would delete the initial assets.
func (g *maker) undo() *request {
	o := g.oid(nil)
	moment, _ := strconv.Atoi(g.w.moments[o]) // 0 if the asset does not exist
	body, preview := dict{{"asset", word(o)}, {"moment", moment}}, g.chance(50)
	switch g.IntN(4) {
	case 0:
		body, preview = dict{{"requestId", list(some(g, 20, func() any { return word(one(g, g.w.writes)) }))}}, true
	case 1:
		body, preview = dict{{"by", word(one(g, g.w.oids["Member"]))}, {"since", word("2026-01-01T00:00:00Z")}}, true
	}
	if g.chance(60) {
		body = append(body, dict{{"conflicts", word("skip")}}...)
	}
	r := post("/api/undo", g.jsonOrYAML(), body)
	if preview {
		r.params, r.writes = dict{{"previewOnly", word("true")}}, false
	}
	return r
}

func (g *maker) form(path string, d dict) *request {
	r := post(path, asForm, d)
	r.header = dict{{"Accept", word("text/html")}, {"Cookie", word("session")}}
	return r
}

// csrf returns a form token for a session. The token is valid for a limited time.
func csrf(session string) string { return ui.FormToken(session) }
