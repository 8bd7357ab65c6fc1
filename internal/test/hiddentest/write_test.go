package hiddentest

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
)

// made are the types of new assets. A type that is listed several times is chosen more often.
var made = strings.Fields(`Story Story Story Defect Epic Task Task Test Theme Goal Issue Request Note Note Link Actual Scope Conversation Expression
	ChangeSet BuildRun Retrospective TestSet Message Member Timebox RegressionSuite RegressionTest Environment BuildProject Schedule Team StoryStatus`)

// untouched are attributes that requests do not change, because callers could then no longer log in.
var untouched = strings.Fields("Password Username IsLoginDisabled")

// writable returns a random attribute for a write. Rarely it is a read-only attribute.
func (g *maker) writable(t *meta.Type) *meta.Attr {
	for {
		a := one(g, t.Attrs)
		if g.chance(60) {
			if l, ok := t.Attr(one(g, liked)); ok {
				a = l
			}
		}
		if slices.Contains(untouched, a.Name) || a.Kind == meta.Date || a.ReadOnly && a.Place.Kind != meta.Reverse && a.Place.Kind != meta.InLinksBack && !g.chance(3) {
			continue
		}
		return a
	}
}

// value returns a random value for an attribute. For a relation it is an Oid, a name, a Number, a query or
// a new asset.
func (g *maker) value(a *meta.Attr) any {
	if a.Name == "TaggedWith" {
		return g.tag()
	}
	if a.Kind != meta.Relation {
		return g.literal(a.Kind, nil)
	}
	switch n := g.IntN(20); {
	case n < 3:
		return g.name()
	case n < 4:
		return g.number()
	case n < 6:
		return attrs{"from": a.Related.Name, "where": attrs{"Name": g.name()}}
	case n < 7 && g.nesting < 2:
		return g.newAsset(one(g, a.Related.Concrete).Name)
	case n < 8:
		return ""
	}
	return g.oid(a.Related)
}

// tag returns a tag for visible assets. api/tags counts all uses of a tag that the caller sees
// (interface 4.6), so hidden assets have other tags.
func (g *maker) tag() string { return g.oneOf("common tag0 tag1 tag2 fresh Vex Qua") }

// change returns a random change of an attribute, in one of the forms that an update may have.
func (g *maker) change(a *meta.Attr) any {
	if a.Kind == meta.Rank {
		return g.rank(a)
	}
	if !a.Multi {
		return g.value(a)
	}
	switch g.IntN(5) {
	case 0:
		return attrs{"add": []any{g.value(a)}, "remove": []any{g.value(a)}}
	case 1:
		return attrs{"remove": g.value(a)}
	case 2:
		return attrs{"find": g.value(a), "replace": g.value(a)}
	}
	return []any{g.value(a)}
}

// rank returns a random new rank: next to a rank in the range of visible assets, next to an asset, or next
// to an asset with a given name. It never uses ranks of hidden assets, because the free ranks around them
// differ between the services.
func (g *maker) rank(a *meta.Attr) any {
	switch g.IntN(3) {
	case 0:
		return strconv.Itoa(1<<24+2*partRanks+g.IntN(partRanks)) + g.oneOf("+ -")
	case 1:
		return attrs{g.oneOf("Before After"): g.name()}
	}
	return attrs{g.oneOf("Before After"): g.oid(a.On)}
}

// newAsset returns a command that creates an asset of a type. Mostly it has the required attributes and
// some others.
func (g *maker) newAsset(name string) attrs {
	g.nesting++
	defer func() { g.nesting-- }()
	t, _ := model.Type(name)
	values := attrs{"AssetType": name}
	for _, a := range t.Attrs {
		if !a.Required || g.chance(5) {
			continue
		}
		switch {
		case a.Name == "Name" || a.Name == "Nickname":
			values[a.Name] = g.newName()
		case (a.Name == "Scope" || a.Name == "Parent") && a.Related != nil && a.Related.Name == "Scope" && g.chance(70):
			values[a.Name] = g.seen[slices.IndexFunc(g.seen, func(o string) bool { return strings.HasPrefix(o, "Scope:") })]
		case a.Kind == meta.Date:
			values[a.Name] = g.oneOf("2026-03-01 2026-04-01")
		default:
			values[a.Name] = g.value(a)
		}
	}
	for range g.IntN(4) {
		if a := g.writable(t); a.Kind == meta.Rank {
			values[a.Name] = g.rank(a)
		} else if values[a.Name] = g.value(a); a.Multi {
			values[a.Name] = []any{values[a.Name], g.value(a)}
		}
	}
	if g.chance(10) {
		values["#ContextOid"] = g.oid(nil)
	}
	return values
}

// set returns random values for the attributes of an update.
func (g *maker) set(t *meta.Type) attrs {
	values := attrs{}
	for range 1 + g.IntN(3) {
		a := g.writable(t)
		values[a.Name] = g.change(a)
	}
	return values
}

// commands returns a request to api/asset with the given commands.
func (g *maker) commands(all ...any) *request {
	if g.chance(10) {
		all = append([]any{attrs{"config": g.oneOf("atomic counts-only")}}, all...)
	}
	return &request{method: "POST", path: "/api/asset", body: text(all), writes: true}
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func (g *maker) creates() *request {
	if g.chance(70) {
		return g.commands(g.newAsset(one(g, made)))
	}
	// The second and third command use the asset that the first one creates.
	first := g.newAsset(one(g, made))
	t, _ := model.Type(first["AssetType"].(string))
	a := g.writable(t)
	return g.commands(attrs{"@x": first}, attrs{"from": "@x", "update": attrs{a.Name: g.change(a)}}, attrs{"from": "@x", "select": []any{g.path(t, selected, 3)}})
}

func (g *maker) updates() *request {
	o := g.oid(nil)
	c := attrs{g.oneOf("from from from oid"): o, "update": g.set(typeOf(o))}
	if c["from"] != nil && g.chance(20) {
		c["filter"] = []string{g.filter(typeOf(o), 1)}
	}
	r := g.commands(c)
	if g.chance(10) {
		r.header = map[string]string{"If-Match": g.literal(meta.Opaque, nil)}
	}
	return r
}

// few returns a filter that only few assets match, so that later requests still have assets to change.
func (g *maker) few(t *meta.Type) []string {
	if g.chance(50) {
		return []string{"ID='" + g.oid(t) + "'|ID='" + g.oid(t) + "'", g.filter(t, 1)}
	}
	return []string{"Name~=" + quote(g.name()) + ";Name!='Mine'", g.filter(t, 1)}
}

func (g *maker) updatesByQuery() *request {
	t, _ := model.Type(g.oneOf("Story Story Workitem Epic Defect Issue Scope Member Note"))
	return g.commands(attrs{"from": t.Name, "filter": g.few(t), "update": g.set(t)})
}

// operation returns a random operation of a type, with its arguments. Operations that close or delete an
// asset are chosen less often.
func (g *maker) operation(t *meta.Type) any {
	if len(t.Ops) == 0 {
		return "Delete"
	}
	op := one(g, t.Ops)
	for range 3 {
		if op.Retires() {
			op = one(g, t.Ops)
		}
	}
	if len(op.Effect.Args) == 0 {
		return op.Name
	}
	args := attrs{"IsOwner": false}
	for _, name := range op.Effect.Args {
		if at, ok := model.Type(name); ok {
			args[name] = g.oid(at)
		}
	}
	args["Role"] = g.oneOf("Role:0 Role:4 Role:8 Role:10 Role:2 Role:1")
	return attrs{"op": op.Name, "args": args}
}

// operated are types that have operations. A type with many operations is listed several times.
var operated = strings.Fields("Story Story Story Story Defect TestSet TestSet Task Test Epic Epic Scope Scope Member Timebox Issue BuildProject Expression Note Message")

func (g *maker) operations() *request {
	t, _ := model.Type(one(g, operated))
	o := g.oid(t)
	if g.chance(80) {
		return g.commands(attrs{"from": o, "execute": g.operation(typeOf(o))})
	}
	return g.commands(attrs{"from": t.Name, "filter": g.few(t), "execute": g.operation(t)})
}

func (g *maker) previews() *request {
	r := one(g, []func(*maker) *request{(*maker).creates, (*maker).updates, (*maker).updatesByQuery, (*maker).operations})(g)
	r.path, r.header, r.writes = "/api/asset?previewOnly=true"+g.oneOf("&plan=false &plan=true"), nil, false
	return r
}

func (g *maker) asynchronous() *request {
	r := one(g, []func(*maker) *request{(*maker).creates, (*maker).updates, (*maker).updatesByQuery, (*maker).operations})(g)
	r.header = map[string]string{"Prefer": "respond-async"}
	return r
}

// undos returns a request that takes back what callers have written: a request, one change, or everything of
// a time.
func (g *maker) undos() *request {
	body := attrs{"requestId": "{wrote" + strconv.Itoa(g.IntN(keptWrites)) + "}"}
	switch g.IntN(6) {
	case 0, 1:
		m := one(g, g.moments)
		body = attrs{"asset": m.oid, "moment": m.at}
	case 2:
		since := "2026-01-01T00:00:00Z"
		if g.marks > 0 {
			since = "{mark" + strconv.Itoa(g.IntN(g.marks)) + "}"
		}
		body = attrs{"by": one(g, g.writers), "since": since}
	}
	if g.chance(70) {
		body["conflicts"] = "skip"
	}
	r := &request{who: g.oneOf("lee lee lee obs cus tes"), method: "POST", path: "/api/undo", body: text(body), writes: true}
	if g.chance(50) {
		r.path, r.writes = "/api/undo?previewOnly=true", false
	}
	return r
}

// attributes returns the JSON body of a write by path.
func (g *maker) attributes(values attrs) string {
	for name, v := range values {
		switch v.(type) {
		case string, []any:
			values[name] = attrs{"value": v}
		default:
			delete(values, name) // the other forms are possible only in api/asset
		}
	}
	return text(attrs{"Attributes": values})
}

func (g *maker) createByPath() *request {
	values := g.newAsset(one(g, made))
	path := "/rest-1.v1/Data/" + values["AssetType"].(string)
	delete(values, "AssetType")
	delete(values, "#ContextOid")
	if g.chance(30) {
		path += parameters("ctx", g.oid(nil))
	}
	return &request{method: "POST", path: path, body: g.attributes(values), writes: true}
}

func (g *maker) updateByPath() *request {
	path, t := g.byPath()
	return &request{method: "POST", path: "/rest-1.v1/Data/" + path, body: g.attributes(g.set(t)), writes: true}
}

func (g *maker) operateByPath() *request {
	t, _ := model.Type(one(g, operated))
	path := strings.ReplaceAll(g.oid(t), ":", "/")
	name, ok := g.operation(t).(string)
	if !ok {
		name = "Delete"
	}
	return &request{method: "POST", path: "/rest-1.v1/Data/" + path + "?op=" + name, writes: true}
}
