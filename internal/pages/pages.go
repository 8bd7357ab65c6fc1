package pages

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
)

// Options are the settings of pages.
type Options struct {
	Instance string // first segment of paths; empty: paths start at the root
	Public   string // base URL as browsers see it; forms may be sent from its origin
	Greets   bool   // a sample is offered, with a receiver that this process keeps in memory
	Log      *slog.Logger
}

// Pages answers browsers; make it with New.
type Pages struct {
	api       http.RoundTripper
	base      string // what paths begin with, such as /alds
	cookie    string // that has the session
	log       *slog.Logger
	public    string // base URL, as receivers of webhooks reach it
	greets    bool
	receivers *receivers
	templates *templates
	statics   statics
	mux       *http.ServeMux
	own       *http.CrossOriginProtection
	models    models
}

// page answers a visit. Errors: *failure, where the interface refuses a request.
type page func(v *visit) error

// New returns pages that ask the interface through api.
func New(api http.RoundTripper, o Options) *Pages {
	p := &Pages{
		api: api, base: strings.TrimSuffix("/"+o.Instance, "/"), cookie: ".V1.Ticket." + o.Instance, log: o.Log,
		public: o.Public, greets: o.Greets, receivers: &receivers{byID: map[string][]received{}}, templates: parseTemplates(), statics: readStatics(), mux: http.NewServeMux(), own: http.NewCrossOriginProtection(),
	}
	if u, err := url.Parse(o.Public); err == nil && u.Host != "" {
		_ = p.own.AddTrustedOrigin(u.Scheme + "://" + u.Host) // it has no path
	}
	p.register()
	return p
}

// register gives all pages to the router.
func (p *Pages) register() {
	for pattern, show := range map[string]page{
		"GET /{$}":                    home,
		"GET /ui/{$}":                 home,
		"GET /ui/profile":             showProfile,
		"POST /ui/profile":            changeProfile,
		"POST /ui/password":           changePassword,
		"POST /ui/sign-out":           signOut,
		"GET /ui/console":             showConsole,
		"POST /ui/console":            runConsole,
		"GET /ui/console/names":       consoleNames,
		"GET /ui/applications":        showApplications,
		"POST /ui/applications":       createApplication,
		"GET /ui/welcome":             showWelcome,
		"POST /ui/welcome":            makeSample,
		"POST /ui/welcome/remove":     removeSample,
		"GET /ui/receiver/{id}":       showReceiver,
		"POST /ui/revoke/{id}":        revokeApplication,
		"GET /ui/model":               showModel,
		"GET /meta.v1":                showModel,
		"GET /ui/model/{type}":        showType,
		"GET /meta.v1/{type}":         showType,
		"POST /ui/model/{type}":       addValues,
		"GET /ui/model/{$}":           showModel,
		"GET /ui/model/custom":        showCustom,
		"POST /ui/model/attribute":    createAttribute,
		"POST /ui/model/list":         createList,
		"GET /ui/model/custom/{oid}":  showDefinition,
		"POST /ui/model/custom/{oid}": changeDefinition,

		"GET /ui/webhooks":                            showWebhooks,
		"GET /ui/webhooks/new":                        newWebhook,
		"POST /ui/webhooks/new":                       createWebhook,
		"GET /ui/webhooks/{id}":                       showWebhook,
		"GET /ui/webhooks/{id}/edit":                  editWebhook,
		"POST /ui/webhooks/{id}/edit":                 changeWebhook,
		"GET /ui/webhooks/{id}/deliveries/{delivery}": showDelivery,
		"POST /ui/webhooks/{id}/{act}":                actOnWebhook,

		"GET /ui/members":                    showMembers,
		"GET /ui/members/new":                newMember,
		"POST /ui/members/new":               createMember,
		"GET /ui/members/roles":              showMatrix,
		"POST /ui/members/roles":             changeMatrix,
		"GET /ui/members/audit":              showAudit,
		"GET /ui/members/{oid}":              showMember,
		"POST /ui/members/{oid}/{act}":       actOnMember,
		"POST /ui/members/{oid}/tokens/{id}": revokeOf,

		"GET /assetdetail.v1":         showAsset,
		"GET /assetdetail.v1/{$}":     showAsset,
		"GET /ui/asset/{oid}/totals":  showTotals,
		"POST /ui/asset/{oid}":        editAsset,
		"POST /ui/asset/{oid}/attach": attachToAsset,
		"POST /ui/asset/{oid}/run":    operateOnAsset,

		"GET /ui/projects":                       home,
		"GET /ui/project/{oid}":                  showBacklog,
		"POST /ui/project/{oid}/rank":            rankItem,
		"POST /ui/project/{oid}/add":             addItem,
		"GET /ui/project/{oid}/sprints":          showSprints,
		"GET /ui/project/{oid}/sprint/{timebox}": showSprint,
		"GET /ui/project/{oid}/flow":             showFlow,
		"GET /ui/project/{oid}/board":            showBoard,
		"POST /ui/project/{oid}/move":            moveItem,

		"GET /ui/system":        showSystem,
		"GET /ui/system/check":  showCheck,
		"POST /ui/system/check": startCheck,
	} {
		p.handle(pattern, signedIn(show))
	}
	p.handle("POST /ui/receiver/{id}", receive)
	p.handle("GET /ui/sign-in", showSignIn)
	p.handle("POST /ui/sign-in", signIn)
	p.handle("GET /ui/static/{version}/{name}", serveStatic)
	p.handle("/", signedIn(func(*visit) error { return notFound() }))
	p.mux.Handle("GET /{$}", http.RedirectHandler(p.base+"/ui/", http.StatusFound))
}

// handle gives a page to the router, below the base.
func (p *Pages) handle(pattern string, show page) {
	method, path, found := strings.Cut(pattern, " ")
	if !found {
		method, path = "", pattern
	}
	if p.base == "" && path == "/{$}" {
		return // the root leads to the first page
	}
	p.mux.HandleFunc(strings.TrimSpace(method+" "+p.base+path), func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, show) })
}

// ServeHTTP answers a browser.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.mux.ServeHTTP(w, r) }

// serve answers with a page, or with what went wrong.
func (p *Pages) serve(w http.ResponseWriter, r *http.Request, show page) {
	v := p.visit(w, r)
	err := p.own.Check(r)
	if err != nil {
		err = &failure{Status: http.StatusForbidden, Message: "A page of another site must not write."}
	}
	if err == nil && r.Method == http.MethodPost {
		err = v.readForm()
	}
	if err == nil {
		err = show(v)
	}
	if err != nil {
		v.fail(err)
	}
}

// signedIn is a page for those who have signed in; others are led to the sign-in and
// back.
func signedIn(show page) page {
	return func(v *visit) error {
		if v.session == "" {
			return v.toSignIn()
		}
		if err := v.meet(); err != nil {
			return err
		}
		if v.r.Method == http.MethodPost && !v.isOwnForm() {
			return &failure{Status: http.StatusForbidden, Message: "This form is of an earlier sign-in. Go back, reload the page and send it again."}
		}
		return show(v)
	}
}

// fail answers with what went wrong: who has no session that counts signs in.
func (v *visit) fail(err error) {
	f, ok := errors.AsType[*failure](err)
	switch {
	case ok:
	case v.r.Context().Err() != nil:
		f = &failure{Status: http.StatusServiceUnavailable, Message: "The page took too long."}
	default:
		v.p.log.Error("page failed", "path", v.r.URL.Path, "err", err)
		f = &failure{Status: http.StatusInternalServerError, Message: "The page could not be made. It has been logged."}
	}
	if f.Status == http.StatusUnauthorized && v.session != "" {
		if v.forget(); v.r.Method == http.MethodGet {
			_ = v.toSignIn()
			return
		}
	}
	v.status = f.Status
	if err := v.render("failure", http.StatusText(f.Status), f); err != nil {
		v.p.log.Error("page failed", "path", v.r.URL.Path, "err", err)
		v.w.WriteHeader(http.StatusInternalServerError)
	}
}

func notFound() error {
	return &failure{Status: http.StatusNotFound, Message: "There is nothing here."}
}
