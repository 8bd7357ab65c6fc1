package httpapi

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/auth"
)

// handler makes one call to an engine and returns the JSON to answer with.
type handler func(ctx context.Context, who auth.Actor, r *request) ([]byte, error)

// route is one line of the surface. In a path, :name takes one segment and
// *name all that is left.
type route struct {
	methods []string
	path    string
	run     handler
	parts   []string // path, split
}

const (
	methodGet    = "GET"
	methodPost   = "POST"
	methodSearch = "SEARCH"
)

var (
	get   = []string{methodGet}
	post  = []string{methodPost}
	query = []string{methodPost, methodGet, methodSearch}
)

// routes is the whole surface, below the instance segment.
func (a *API) routes() []route {
	table := []route{
		{methods: post, path: "api/asset", run: a.runBulk},
		{methods: get, path: "api/asset/:requestId", run: a.bulkProgress},
		{methods: query, path: "query.v1", run: a.runQuery},
		{methods: query, path: "query.legacy.v1", run: a.runQuery},

		{methods: get, path: "rest-1.v1/Data/:type", run: a.readPath},
		{methods: get, path: "rest-1.v1/Data/:type/:id", run: a.readPath},
		{methods: get, path: "rest-1.v1/Data/:type/:id/*attr", run: a.readPath},
		{methods: post, path: "rest-1.v1/Data/:type", run: a.writePath},
		{methods: post, path: "rest-1.v1/Data/:type/:id", run: a.writePath},
		{methods: post, path: "rest-1.v1/Data/:type/:id/*attr", run: a.writePath},
		{methods: get, path: "rest-1.v1/Hist/:type", run: a.readHistory},
		{methods: get, path: "rest-1.v1/Hist/:type/:id", run: a.readHistory},
		{methods: get, path: "rest-1.v1/New/:type", run: a.template},
		{methods: get, path: "rest-1.oauth.v1/Data/:type", run: a.readPath},
		{methods: get, path: "rest-1.oauth.v1/Data/:type/:id", run: a.readPath},
		{methods: get, path: "rest-1.oauth.v1/Data/:type/:id/*attr", run: a.readPath},
		{methods: post, path: "rest-1.oauth.v1/Data/:type", run: a.writePath},
		{methods: post, path: "rest-1.oauth.v1/Data/:type/:id", run: a.writePath},
		{methods: post, path: "rest-1.oauth.v1/Data/:type/:id/*attr", run: a.writePath},
		{methods: get, path: "rest-1.oauth.v1/Hist/:type", run: a.readHistory},
		{methods: get, path: "rest-1.oauth.v1/Hist/:type/:id", run: a.readHistory},
		{methods: get, path: "rest-1.oauth.v1/New/:type", run: a.template},

		{methods: get, path: "api/webhook", run: a.listWebhooks},
		{methods: post, path: "api/webhook", run: a.createWebhook},
		{methods: get, path: "api/webhook/status/:id", run: a.webhookStatus},
		{methods: get, path: "api/webhook/deliveries/:id", run: a.webhookDeliveries},
		{methods: post, path: "api/webhook/delete/:id", run: a.deleteWebhook},
		{methods: post, path: "api/webhook/test/:id", run: a.testWebhook},
		{methods: post, path: "api/webhook/redeliver/:id", run: a.redeliverWebhook},
		{methods: post, path: "api/webhook/:id", run: a.updateWebhook},
	}
	table = append(table, a.listRoutes()...)
	for i := range table {
		table[i].parts = strings.Split(table[i].path, "/")
	}
	return table
}

// writes reports whether the route changes anything.
func (r *route) writes() bool { return slices.Equal(r.methods, post) }

// find returns the route for method and path with what its path took, and all
// methods that path has: none when the path is unknown.
func find(table []route, method string, p path) (*route, map[string]string, []string) {
	var allowed []string
	for i := range table {
		r := &table[i]
		taken, ok := r.match(p)
		if !ok {
			continue
		}
		if slices.Contains(r.methods, method) {
			return r, taken, r.methods
		}
		allowed = append(allowed, r.methods...)
	}
	return nil, nil, allowed
}

func (r *route) match(p path) (map[string]string, bool) {
	var taken map[string]string
	take := func(name, value string) {
		if taken == nil {
			taken = make(map[string]string, 3)
		}
		taken[name] = value
	}
	for i, part := range r.parts {
		switch {
		case i >= len(p.segments):
			return nil, false
		case part[0] == '*':
			take(part[1:], p.from(i))
			return taken, true
		case part[0] == ':':
			take(part[1:], p.segments[i])
		case !strings.EqualFold(part, p.segments[i]):
			return nil, false
		}
	}
	return taken, len(r.parts) == len(p.segments)
}

// path is a decoded request path without its empty segments, so that doubled
// slashes mean nothing.
type path struct {
	text     string
	segments []string
	starts   []int // where each segment starts in text
}

// maxSegments bounds the work on a hostile path; no route has more.
const maxSegments = 32

// parsePath decodes raw; an encoded slash counts as a slash.
func parsePath(raw string) (path, bool) {
	text, err := url.PathUnescape(raw)
	if err != nil {
		return path{}, false
	}
	p := path{text: text}
	for i := 0; i < len(text) && len(p.segments) < maxSegments; {
		end := strings.IndexByte(text[i:], '/')
		if end < 0 {
			end = len(text) - i
		}
		if end > 0 {
			p.segments, p.starts = append(p.segments, text[i:i+end]), append(p.starts, i)
		}
		i += end + 1
	}
	return p, true
}

// from returns the text from segment i to the end.
func (p path) from(i int) string { return strings.TrimRight(p.text[p.starts[i]:], "/") }

// below returns p without its first segment when that is name.
func (p path) below(name string) (path, bool) {
	if name == "" {
		return p, true
	}
	if len(p.segments) == 0 || !strings.EqualFold(p.segments[0], name) {
		return path{}, false
	}
	return path{text: p.text, segments: p.segments[1:], starts: p.starts[1:]}, true
}
