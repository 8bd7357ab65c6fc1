package httpapi

import (
	"context"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
)

// handler calls one engine and returns the body of the answer. Instead of returning a body it
// may set the stream, file or follow of the request.
type handler func(a *API, ctx context.Context, who auth.Actor, r *request) ([]byte, error)

// Route is a path of the interface and its methods.
type Route struct {
	Methods []string
	Path    string // below the instance; :name is one segment, *name the rest of the path
	Alias   bool   // another path of a route, for existing clients
	Open    bool   // needs no credentials if Options.Open is set
	Content bool   // its body or answer is the content of an attachment, which is streamed
	Bounded bool   // a POST that an access token with bounds may send
	handle  handler
}

// The methods that the router accepts. methodOther stands for all other methods; no route has
// it.
const (
	methodGet    = "GET"
	methodHead   = "HEAD"
	methodPost   = "POST"
	methodSearch = "SEARCH"
	methodOther  = "OTHER"
)

var (
	get     = []string{methodGet}
	getHead = []string{methodGet, methodHead}
	post    = []string{methodPost}
	search  = []string{methodPost, methodGet, methodSearch}
	anyPath = []string{methodGet, methodPost} // the Allow header of a path without a route
	methods = []string{methodGet, methodHead, methodPost, methodSearch, methodOther}
)

// aliases are other names of the first segment of a path.
var aliases = map[string][]string{
	"query.v1": {"query.legacy.v1"}, "rest-1.v1": {"rest-1.oauth.v1"}, "meta.v1": {"meta.oauth.v1"},
	"loc.v1": {"loc.oauth.v1"}, "loc-2.v1": {"loc-2.oauth.v1"}, "config.v1": {"config.oauth.v1"},
	"attachment.img": {"attachment.v1", "attachment.oauth.img", "attachment.oauth.v1"}, "embedded.img": {"embedded.oauth.img"},
}

// Routes returns the table of all routes, which is the whole interface. The router,
// docs/openapi.yaml and the tests follow it.
func Routes() []Route {
	table := []Route{
		{Methods: post, Path: "api/asset", Bounded: true, handle: (*API).runBulk},
		{Methods: get, Path: "api/asset/:requestId", handle: (*API).bulkProgress},
		{Methods: get, Path: "api/plans/:id", handle: (*API).readPlan},
		{Methods: post, Path: "api/undo", Bounded: true, handle: (*API).undoWrites},
		{Methods: post, Path: "api/proposals", Bounded: true, handle: (*API).propose},
		{Methods: get, Path: "api/proposals/:oid", handle: (*API).showProposal},
		{Methods: post, Path: "api/proposals/:oid", Bounded: true, handle: (*API).renewProposal},
		{Methods: search, Path: "query.v1", handle: (*API).runQuery},

		{Methods: get, Path: "rest-1.v1/Data/:type", handle: (*API).readPath},
		{Methods: get, Path: "rest-1.v1/Data/:type/:id", handle: (*API).readPath},
		{Methods: get, Path: "rest-1.v1/Data/:type/:id/*attr", handle: (*API).readPath},
		{Methods: post, Path: "rest-1.v1/Data/:type", Bounded: true, handle: (*API).writePath},
		{Methods: post, Path: "rest-1.v1/Data/:type/:id", Bounded: true, handle: (*API).writePath},
		{Methods: post, Path: "rest-1.v1/Data/:type/:id/*attr", Bounded: true, handle: (*API).writePath},
		{Methods: get, Path: "rest-1.v1/Hist/:type", handle: (*API).readHistory},
		{Methods: get, Path: "rest-1.v1/Hist/:type/:id", handle: (*API).readHistory},
		{Methods: get, Path: "rest-1.v1/New/:type", handle: (*API).template},

		{Methods: get, Path: "meta.v1", Open: true, handle: (*API).metadata},
		{Methods: get, Path: "meta.v1/:type", Open: true, handle: (*API).metadata},
		{Methods: get, Path: "meta.v1/:type/*attr", Open: true, handle: (*API).metadata},

		{Methods: get, Path: "loc.v1", Open: true, handle: (*API).localize},
		{Methods: get, Path: "loc-2.v1", Open: true, handle: (*API).localizeAll},
		{Methods: get, Path: "config.v1", Open: true, handle: (*API).configuration},
		{Methods: get, Path: "assetdetail.v1", handle: (*API).assetDetail},
		{Methods: get, Path: stylesheet, Open: true, handle: (*API).apiStylesheet},
		{Methods: get, Path: "api/localization", handle: (*API).setTexts},
		{Methods: post, Path: "api/localization", handle: (*API).changeTexts},
		{Methods: getHead, Path: "attachment.img/:id", Content: true, handle: download("Attachment", "Image")},
		{Methods: post, Path: "attachment.img/:id", Content: true, Bounded: true, handle: upload("Attachment", "Image")},
		{Methods: getHead, Path: "embedded.img/:id", Content: true, handle: download("EmbeddedImage")},
		{Methods: post, Path: "embedded.img/:id", Content: true, Bounded: true, handle: upload("EmbeddedImage")},

		{Methods: get, Path: "api/webhook", handle: (*API).listWebhooks},
		{Methods: post, Path: "api/webhook", handle: (*API).createWebhook},
		{Methods: post, Path: "api/webhook/preview", Bounded: true, handle: (*API).previewWebhook},
		{Methods: get, Path: "api/webhook/delivery/:id", handle: (*API).webhookDelivery},
		{Methods: get, Path: "api/webhook/status/:id", handle: (*API).webhookStatus},
		{Methods: get, Path: "api/webhook/deliveries/:id", handle: (*API).webhookDeliveries},
		{Methods: post, Path: "api/webhook/delete/:id", handle: (*API).deleteWebhook},
		{Methods: post, Path: "api/webhook/test/:id", handle: (*API).testWebhook},
		{Methods: post, Path: "api/webhook/redeliver/:id", handle: (*API).redeliverWebhook},
		{Methods: get, Path: "api/webhook/:id", handle: (*API).findWebhook},
		{Methods: post, Path: "api/webhook/:id", handle: (*API).updateWebhook},

		{Methods: get, Path: "api/tokens", handle: (*API).listTokens},
		{Methods: post, Path: "api/tokens", handle: (*API).makeToken},
		{Methods: post, Path: "api/tokens/revoke/:id", Bounded: true, handle: (*API).revokeToken},

		{Methods: get, Path: "api/ProjectRoles/ByProject", handle: (*API).rolesByProject},
		{Methods: get, Path: "api/ProjectRoles/ByMember", handle: (*API).rolesByMember},
		{Methods: get, Path: "api/ActivityStream/:oid", handle: (*API).activityStream},
		{Methods: get, Path: "api/changes", handle: (*API).changes},
		{Methods: get, Path: "api/audit", handle: (*API).auditEvents},
		{Methods: get, Path: "api/system", handle: (*API).systemStatus},
		{Methods: get, Path: "api/system/check", handle: (*API).checkState},
		{Methods: post, Path: "api/system/check", handle: (*API).startCheck},
		{Methods: get, Path: "api/system/settings", handle: (*API).settings},
		{Methods: post, Path: "api/system/settings", handle: (*API).changeSettings},
		{Methods: get, Path: "api/tags", handle: (*API).tag},
		{Methods: get, Path: "api/tags/all", handle: (*API).allTags},
		{Methods: get, Path: "api/tags/command/search", handle: (*API).searchTags},
		{Methods: post, Path: "api/tags/command/merge", handle: (*API).mergeTags},
		{Methods: post, Path: "api/tags/command/remove", handle: (*API).removeTags},
	}
	for _, r := range table {
		first, below, _ := strings.Cut(r.Path, "/")
		for _, alias := range aliases[first] {
			r.Path, r.Alias = strings.TrimSuffix(alias+"/"+below, "/"), true
			table = append(table, r)
		}
	}
	return table
}

// register adds the table to the router. A path of the table answers 405 to a method that it
// does not have. Below the instance, GET and POST are authenticated before the answer 404 or
// 405, unless the path is open. Other methods are not authenticated.
// Spec: interface 7.1 for the order of 405, 401 and 404.
func (a *API) register(app *fiber.App, table []Route) {
	instance := app.Group("/" + a.instance)
	a.registerScrape(app)
	a.registerPages(app, instance)
	a.registerAgents(instance)
	allowed := map[string][]string{}
	for _, r := range table {
		allowed[r.Path] = append(allowed[r.Path], r.Methods...)
		for _, m := range r.Methods {
			instance.Add(m, r.pattern(), a.prove(r), a.serve(r))
		}
	}
	for _, r := range table {
		refuse := methodNotAllowed(allowed[r.Path])
		for _, m := range methods {
			switch {
			case slices.Contains(allowed[r.Path], m):
			case slices.Contains(anyPath, m) && (!r.Open || !a.open):
				instance.Add(m, r.pattern(), a.authenticate, refuse)
			default:
				instance.Add(m, r.pattern(), refuse)
			}
		}
	}
	for _, m := range anyPath {
		instance.Add(m, "/*", a.authenticate, notFound)
		app.Add(m, "/*", notFound)
	}
	app.Use(methodNotAllowed(anyPath))
}

func methodNotAllowed(allowed []string) fiber.Handler {
	err := methodError{allow: strings.Join(allowed, ", ")}
	return func(*fiber.Ctx) error { return err }
}

func notFound(*fiber.Ctx) error { return fault.NotFoundf("Not Found") }

// pattern returns the path in the router's syntax.
func (r Route) pattern() string {
	if i := strings.IndexByte(r.Path, '*'); i >= 0 {
		return "/" + r.Path[:i] + "+"
	}
	return "/" + r.Path
}

// base returns the start of hrefs: the instance and the first two segments of the route. The
// hrefs in the answer to an alias therefore use the alias, too.
func (a *API) base(r Route) string {
	segments := strings.Split(r.Path, "/")
	return path.Join("/", a.instance, path.Join(segments[:min(2, len(segments))]...))
}

// writes reports whether the route changes data: its only method is POST.
func (r Route) writes() bool { return slices.Equal(r.Methods, post) }

// fixedSegments is the maximum number of segments below the instance before the last
// parameter of a route. In that parameter, slashes may have a meaning.
const fixedSegments = 4

// normalizePath decodes the path before it is routed. An encoded slash counts as a slash,
// repeated slashes count once, and below meta.v1 a plus is a space.
// Errors: fault.Invalid.
func (a *API) normalizePath(c *fiber.Ctx) error {
	original := string(c.Request().URI().PathOriginal())
	if a.isForm(original) {
		original = strings.ReplaceAll(original, "+", "%20")
	}
	text, err := url.PathUnescape(original)
	if err != nil {
		return fault.Invalidf(fault.NoPlace, "The path is not properly encoded")
	}
	n := fixedSegments
	if a.instance != "" {
		n++
	}
	c.Path(singleSlashes(text, n))
	return c.Next()
}

// isForm reports whether clients encode a space in the path as a plus, as in a form.
func (a *API) isForm(path string) bool {
	first := a.firstSegment(path)
	return strings.EqualFold(first, "meta.v1") || strings.EqualFold(first, aliases["meta.v1"][0])
}

// singleSlashes replaces repeated slashes by a single slash. It does this before, between and
// directly after the first n segments of a path. After a segment with a bracket it changes nothing:
// a slash there may be part of a token.
func singleSlashes(text string, n int) string {
	if !strings.Contains(text, "//") {
		return text
	}
	var b strings.Builder
	for ; n > 0 && text != ""; n-- {
		segment, rest, more := strings.Cut(strings.TrimLeft(text, "/"), "/")
		b.WriteString("/" + segment)
		if text = rest; more && strings.Contains(segment, "[") {
			b.WriteString("/" + text)
			return b.String()
		}
	}
	if text = strings.TrimLeft(text, "/"); text != "" {
		b.WriteString("/" + text)
	}
	return b.String()
}
