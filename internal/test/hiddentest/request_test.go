package hiddentest

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
)

// request is one request of a caller.
type request struct {
	kind, who, method, path string
	header                  map[string]string
	asks                    []*ask // the body, if it is a list of queries
	body                    string // any other body
	writes                  bool
}

func (r *request) text() string {
	if r.asks == nil {
		return r.body
	}
	b, err := json.Marshal(r.asks)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func (r *request) String() string {
	return r.kind + " by " + r.who + ": " + r.method + " " + r.path + "\n" + r.text()
}

// smaller returns copies of a request. In each copy something is missing from its queries.
func (r *request) smaller() []*request {
	var all []*request
	for i, a := range r.asks {
		fewer := *r
		fewer.asks = slices.Delete(slices.Clone(r.asks), i, i+1)
		all = append(all, &fewer)
		for _, s := range a.smaller() {
			less := *r
			less.asks = slices.Clone(r.asks)
			less.asks[i] = s
			all = append(all, &less)
		}
	}
	return all
}

// kind is a kind of request. part is how often it is chosen, relative to the other kinds.
type kind struct {
	name string
	make func(g *maker) *request
	part int
}

// kinds are all kinds of requests.
var kinds = []kind{
	{"queries", (*maker).queries, 20},
	{"queries among commands", (*maker).bulkQueries, 6},
	{"assets by path", (*maker).collection, 10},
	{"an asset by path", (*maker).assetByPath, 8},
	{"versions", (*maker).versions, 5},
	{"templates", (*maker).template, 3},
	{"activity streams", (*maker).stream, 8},
	{"tags", (*maker).tags, 4},
	{"roles", (*maker).roles, 2},
	{"what is not for members", (*maker).forbidden, 2},
	{"creates", (*maker).creates, 8},
	{"updates", (*maker).updates, 10},
	{"updates by query", (*maker).updatesByQuery, 5},
	{"operations", (*maker).operations, 6},
	{"previews", (*maker).previews, 5},
	{"asynchronous", (*maker).asynchronous, 2},
	{"creates by path", (*maker).createByPath, 4},
	{"updates by path", (*maker).updateByPath, 6},
	{"operations by path", (*maker).operateByPath, 3},
	{undoing, (*maker).undos, 8},
	{"calls of agents", (*maker).agentCalls, 10},
}

// request returns a request of a random kind.
func (g *maker) request() *request {
	sum := 0
	for _, k := range kinds {
		sum += k.part
	}
	n := g.IntN(sum)
	for _, k := range kinds {
		if n -= k.part; n < 0 {
			return g.of(k)
		}
	}
	return nil
}

// of returns a random request of a kind.
func (g *maker) of(k kind) *request {
	r := k.make(g)
	r.kind = k.name
	if r.who == "" {
		r.who = g.oneOf("lee lee lee obs cus tes")
	}
	return r
}

func (g *maker) queries() *request {
	asks := []*ask{g.query()}
	if g.chance(20) {
		asks = append(asks, g.query())
	}
	if p, ok := asks[0].Page.(map[string]any); ok && p["after"] != nil && g.chance(50) {
		p["after"] = "{next}" // the cursor of another query, which the service mostly refuses
	}
	return &request{method: "POST", path: "/query.v1", asks: asks}
}

func (g *maker) bulkQueries() *request {
	r := g.queries()
	r.path = "/api/asset"
	return r
}

// parameters returns the query part of a URL. pairs has names and values in turn. Names with an empty value
// are left out.
func parameters(pairs ...string) string {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			v.Set(pairs[i], pairs[i+1])
		}
	}
	return "?" + v.Encode()
}

// selection returns the URL parameters of a read by path.
func (g *maker) selection(t *meta.Type) string {
	var sel, sort []string
	for range g.IntN(4) {
		sel = append(sel, g.path(t, selected, 3))
	}
	for range g.IntN(2) {
		sort = append(sort, g.oneOf("+ -")+g.path(t, sorted, 2))
	}
	where, find, page := "", "", ""
	if g.chance(60) {
		where = g.filter(t, 2)
	}
	if g.chance(10) {
		find = g.name()
	}
	if g.chance(40) {
		page = strconv.Itoa(1+g.IntN(9)) + "," + strconv.Itoa(g.IntN(9))
	}
	return parameters("sel", strings.Join(sel, ","), "sort", strings.Join(sort, ","), "where", where, "find", find, "page", page)
}

func (g *maker) collection() *request {
	t, _ := model.Type(one(g, queried))
	return &request{method: "GET", path: "/rest-1.v1/Data/" + t.Name + g.selection(t)}
}

// byPath returns the path of a random asset, such as Story/1001, and the type of the asset.
func (g *maker) byPath() (path string, t *meta.Type) {
	o := g.oid(nil)
	return strings.ReplaceAll(o, ":", "/"), typeOf(o)
}

func (g *maker) assetByPath() *request {
	if g.chance(10) {
		return &request{method: "GET", path: "/assetdetail.v1?oid=" + g.oid(nil)}
	}
	path, t := g.byPath()
	path = "/rest-1.v1/Data/" + path
	if g.chance(40) {
		return &request{method: "GET", path: path + "/" + url.PathEscape(g.path(t, selected, 3))}
	}
	return &request{method: "GET", path: path + g.selection(t)}
}

func (g *maker) versions() *request {
	path, t := g.byPath()
	if g.chance(50) {
		path = t.Name
	}
	return &request{method: "GET", path: "/rest-1.v1/Hist/" + path + g.selection(t)}
}

// stream returns a request for the activity stream of an asset, mostly for a part of the stream.
func (g *maker) stream() *request {
	maxCount, verbs, anchor, after := "", "", "", ""
	if g.chance(60) {
		maxCount = strconv.Itoa(1 + g.IntN(6))
	}
	if g.chance(30) {
		verbs = g.oneOf("Updated Created,Added Moved,Removed Deleted,Blocked,UnBlocked Closed")
	}
	if g.marks > 0 && g.chance(30) {
		anchor = "{mark" + strconv.Itoa(g.IntN(g.marks)) + "}"
	}
	if g.chance(30) {
		after = strconv.Itoa(1000 + g.IntN(7*partIDs))
	}
	return &request{method: "GET", path: "/api/ActivityStream/" + g.oid(nil) + "?" + strings.Join([]string{
		"anchorDate=" + anchor, "direction=" + g.oneOf("Back Back Forward"), "maxCount=" + maxCount, "verbs=" + verbs, "after=" + after,
		"deleted=" + g.oneOf("false false true"),
	}, "&")}
}

func (g *maker) template() *request {
	t := one(g, made)
	return &request{method: "GET", path: "/rest-1.v1/New/" + t + parameters("ctx", g.oid(nil))}
}

func (g *maker) tags() *request {
	switch g.IntN(6) {
	case 0:
		return &request{method: "GET", path: "/api/tags/all"}
	case 1:
		return &request{method: "GET", path: "/api/tags" + parameters("tag", g.name())}
	case 2:
		body := `{"MergeTo": ` + strconv.Quote(g.tag()) + `, "MergeFrom": [` + strconv.Quote(g.name()) + `]}`
		return &request{who: g.oneOf("lee pam"), method: "POST", path: "/api/tags/command/merge", body: body, writes: true}
	case 3:
		return &request{who: g.oneOf("lee pam"), method: "POST", path: "/api/tags/command/remove", body: `{"removeFrom": [` + strconv.Quote(g.name()) + `]}`, writes: true}
	}
	return &request{method: "GET", path: "/api/tags/command/search" + parameters("term", g.name())}
}

func (g *maker) roles() *request {
	name := g.oneOf("Scope Member")
	t, _ := model.Type(name)
	by := map[string]string{"Scope": "ByProject", "Member": "ByMember"}[name]
	where := ""
	if g.chance(70) {
		where = g.filter(t, 1)
	}
	return &request{method: "GET", path: "/api/ProjectRoles/" + by + parameters("where", where)}
}

// forbidden returns a request that members may not send. The replies of the two services must be equal for
// it, too.
func (g *maker) forbidden() *request {
	switch g.IntN(5) {
	case 0:
		return &request{method: "GET", path: "/api/webhook"}
	case 1:
		return &request{method: "GET", path: "/api/asset/00000000-0000-0000-0000-000000000000"}
	case 2:
		return &request{method: "GET", path: "/api/audit"}
	case 3:
		body := `[{"config": "import"}, {"AssetType": "Story", "Name": "x", "Scope": ` + strconv.Quote(g.oid(nil)) + `}]`
		return &request{method: "POST", path: "/api/asset", body: body, writes: true}
	}
	return &request{method: "POST", path: "/query.v1", body: `{"from": ` + strconv.Quote(g.oid(nil)) + `, "explain": true}`}
}
