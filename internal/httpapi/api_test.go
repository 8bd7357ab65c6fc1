package httpapi

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/query/describe"
	"github.com/alds-dev/alds/internal/query/find"
)

const maxBody = 1 << 10

func newAPI(e engines, log io.Writer) *API {
	a := New(fixed(Engines{
		Credentials: e, Bulk: e, Undo: undoer{e}, Plans: planner{e}, Queries: e, Writes: e, Roles: e, Tags: e, Activity: e, Changes: e, Webhooks: e, Tokens: e, Audit: e, System: systems{e},
		Metadata: e, Localization: texts{e}, Attachments: e, Configuration: describe.NewConfiguration("1.2.3.4", 100, "Mix", "Mix"),
	}), Options{
		Instance: "alds", MaxBody: maxBody, Log: slog.New(slog.NewJSONHandler(log, nil)),
	})
	a.pause = func(time.Duration) {} // refusals are not delayed
	return a
}

// call sends one request and returns the answer and its body. header has a name, its value, the
// next name, and so on. If header has no Authorization, the request gets valid credentials.
func call(t *testing.T, a *API, method, path, body string, header ...string) (*http.Response, string) {
	t.Helper()
	r := httptest.NewRequest(method, "http://x/", strings.NewReader(body))
	r.RequestURI = path // sent unchanged
	r.SetBasicAuth("admin", "a:b")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := a.app.Test(r, -1)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

// TestRoutes has a case for every route, alias and method of the table.
func TestRoutes(t *testing.T) {
	var log bytes.Buffer
	a := newAPI(engines{}, &log)
	for _, c := range []struct{ method, path, body, want string }{
		{"POST", "/alds/api/asset", "{}", `bulk yaml=false preview=false {}`},
		{"POST", "/alds/api/asset/", "[]", `bulk yaml=false preview=false []`},
		{"POST", "/ALDS//Api//Asset", "[]", `bulk yaml=false preview=false []`},
		{"POST", "/alds/api/asset?previewOnly=True", "{}", `bulk yaml=false preview=true {}`},
		{"POST", "/alds/api/asset?atomic=true&Comment='spring+clean'", "{}", `bulk atomic=true comment=spring clean`},
		{"GET", "/alds/api/asset/r1", "", `progress r1`},
		{"POST", "/alds/api/asset", "from: Story", `bulk yaml=true preview=false from: Story`},
		{"POST", "/alds/api/undo?comment='back'", "{}", `undo preview=false comment=back key= moment=0 yaml=false {}`},
		{"POST", "/alds/api/undo?previewOnly=true", "requestId: x", `undo preview=true comment= key= moment=0 yaml=true requestId: x`},
		{"POST", "/alds/api/proposals", `{"plan": "x"}`, `propose yaml=false {"plan": "x"}`},
		{"GET", "/alds/api/plans/x-7", "", `plan x-7`},
		{"GET", "/alds/api/proposals/Proposal:7", "", `effect of Proposal:7`},
		{"POST", "/alds/api/proposals/Proposal:7", "", `renew Proposal:7 yaml=false `},
		{"POST", "/alds/api/proposals/Proposal:7", "plan: x", `renew Proposal:7 yaml=true plan: x`},
		{"POST", "/alds/query.v1", `{"from": "Story"}`, `rows of Story`},
		{"POST", "/alds/query.v1/", `{"from": "Story"}`, `rows of Story`},
		{"GET", "/alds/query.v1", `{"from": "Story"}`, `rows of Story`},
		{"GET", "/alds/rest-1.v1/Hist/Story/7", "", `assets /alds/rest-1.v1/Data from=Story:7 attr= where=`},
		{"SEARCH", "/alds/query.v1", `{"from": "Story"}`, `rows of Story`},
		{"POST", "/alds/query.legacy.v1", `{"from": "Story"}`, `rows of Story`},
		{"GET", "/alds/rest-1.v1/Data/Story", "", `assets /alds/rest-1.v1/Data from=Story attr= where=`},
		{"GET", "/alds/rest-1.v1/data/Epic", "", `assets /alds/rest-1.v1/Data from=Epic attr= where=`},
		{"GET", "/alds/rest-1.v1/Data//Story", "", `assets /alds/rest-1.v1/Data from=Story attr= where=`},
		{"GET", "//alds/rest-1.v1/Data/Story", "", `assets /alds/rest-1.v1/Data from=Story attr= where=`},
		{"GET", "/alds/rest-1.oauth.v1/Data/Story/12", "", `assets /alds/rest-1.oauth.v1/Data from=Story:12 attr= where=`},
		{"GET", "/alds/rest-1.v1/Data/Story/12/99", "", `assets /alds/rest-1.v1/Data from=Story:12:99 attr= where=`},
		{"GET", "/alds/rest-1.v1/Data/Story/12/Owners", "", `assets /alds/rest-1.v1/Data from=Story:12 attr=Owners where=`},
		{"GET", "/alds/rest-1.v1/Data/Story/12/99/Owners.Name", "", `assets /alds/rest-1.v1/Data from=Story:12:99 attr=Owners.Name where=`},
		{"GET", "/alds/rest-1.v1/Data/Story:12", "", `assets /alds/rest-1.v1/Data from=Story:12 attr= where=`},
		{"GET", "/alds/rest-1.v1/Data/Story:12:99/Name", "", `assets /alds/rest-1.v1/Data from=Story:12:99 attr=Name where=`},
		{"GET", "/alds/rest-1.v1/Data/Story%2F12%2FName", "", `assets /alds/rest-1.v1/Data from=Story:12 attr=Name where=`},
		{"GET", "/alds/rest-1.v1/Data/Scope/0/Workitems:Story%5BName='a/b'%5D.@Count", "", `assets /alds/rest-1.v1/Data from=Scope:0 attr=Workitems:Story[Name='a/b'].@Count where=`},
		{"GET", "/alds/rest-1.v1/Data/Story?WHERE=A='1';B='2'&where=late", "", `assets /alds/rest-1.v1/Data from=Story attr= where=A='1';B='2'`},
		{"GET", "/alds/rest-1.v1/Data/Scope/0/Workitems:Story%5BName='a//b'%5D.@Count/", "", `assets /alds/rest-1.v1/Data from=Scope:0 attr=Workitems:Story[Name='a//b'].@Count where=`},
		{"GET", "/alds/rest-1.v1/Hist/Story", "", `assets /alds/rest-1.v1/Data from=Story attr= where=`},
		{"GET", "/alds/rest-1.v1/New/Story?ctx=Scope:0", "", `template /alds/rest-1.v1/New type=Story ctx=Scope:0`},
		{"POST", "/alds/rest-1.v1/Data/Story", "{}", `write /alds/rest-1.v1/Data type=Story id= op= {}`},
		{"POST", "/alds/rest-1.v1/Data/Story/12?op=Copy", "", `write /alds/rest-1.v1/Data type=Story id=12 op=Copy `},
		{"POST", "/alds/rest-1.v1/Data/Story/12/99", "{}", `write /alds/rest-1.v1/Data type=Story id=12 op= {}`},
		{"GET", "/alds/rest-1.oauth.v1/Data/Story", "", `assets /alds/rest-1.oauth.v1/Data from=Story attr= where=`},
		{"GET", "/alds/rest-1.oauth.v1/Data/Story/12/Name", "", `assets /alds/rest-1.oauth.v1/Data from=Story:12 attr=Name where=`},
		{"GET", "/alds/rest-1.oauth.v1/Hist/Story", "", `assets /alds/rest-1.oauth.v1/Data from=Story attr= where=`},
		{"GET", "/alds/rest-1.oauth.v1/Hist/Story/7", "", `assets /alds/rest-1.oauth.v1/Data from=Story:7 attr= where=`},
		{"GET", "/alds/rest-1.oauth.v1/New/Story", "", `template /alds/rest-1.oauth.v1/New type=Story ctx=`},
		{"POST", "/alds/rest-1.oauth.v1/Data/Story", "{}", `write /alds/rest-1.oauth.v1/Data type=Story id= op= {}`},
		{"POST", "/alds/rest-1.oauth.v1/Data/Story/12", "{}", `write /alds/rest-1.oauth.v1/Data type=Story id=12 op= {}`},
		{"POST", "/alds/rest-1.oauth.v1/Data/Story/12/99", "{}", `write /alds/rest-1.oauth.v1/Data type=Story id=12 op= {}`},
		{"GET", "/alds/query.legacy.v1", `{"from": "Story"}`, `rows of Story`},
		{"SEARCH", "/alds/query.legacy.v1", `{"from": "Story"}`, `rows of Story`},
		{"GET", "/alds/api/projectroles/byproject?where=ID='Scope:0'", "", `by project ID='Scope:0'`},
		{"GET", "/alds/api/ProjectRoles/ByMember?where=Name='x'", "", `by member Name='x'`},
		{
			"GET", "/alds/api/audit?page=5&after=x&kind=SignIn&actor=Member:20&member=Member:21&project=Scope:0&since=2026-01-01&until=2026-02-01", "",
			`events all=true 5 x SignIn Member:20 Member:21 Scope:0 2026-01-01 2026-02-01`,
		},
		{
			"GET", "/alds/api/activitystream/Story:7?anchorDate=d&Direction=Back&MAXCOUNT=5&verbs=Added&after=8&deleted=true", "",
			`stream {Story:7 d Back 5 Added 8 true}`,
		},
		{
			"GET", "/alds/api/changes?after=7.6&page=5&TYPE=AssetChanged&from=Story&attributes=Name&filter=A&with=$B=1&select=C&userContext=Member:20&wait=1", "",
			`changes {7.6 5 AssetChanged Story Name A $B=1 C Member:20}`,
		},
		{"GET", "/alds/api/system/", "", `status`},
		{"GET", "/alds/API/System/Check", "", `checked`},
		{"GET", "/alds/api/system/settings", "", `settings`},
		{"POST", "/alds/api/system/settings", "{}", `{}`},
		{"GET", "/alds/api/tags?tag='UX'", "", `tag UX`},
		{"GET", "/alds/api/tags/all", "", `all tags`},
		{"GET", "/alds/api/tags/command/search?term=u", "", `search u`},
		{"POST", "/alds/api/tags/command/merge", "{}", `merge {}`},
		{"POST", "/alds/api/tags/command/remove", "{}", `remove {}`},
		{"GET", "/alds/meta.v1", "", `all of /alds/meta.v1`},
		{"GET", "/alds/meta.v1/?xsl=api.xsl", "", `all of /alds/meta.v1`},
		{"GET", "/alds//META.v1//", "", `all of /alds/meta.v1`},
		{"GET", "/alds/meta.v1//Story/", "", `type /alds/meta.v1 Story`},
		{"GET", "/alds/meta.v1/Story/Owners.Nickname", "", `part /alds/meta.v1 Story Owners.Nickname`},
		{"GET", "/alds/meta.v1//Story%2FOwners.Nickname", "", `part /alds/meta.v1 Story Owners.Nickname`},
		{"GET", "/alds/meta.v1/Scope/Workitems%3AStory%5BName%3D%27a+%40b%2B//c%27%5D.%40Count", "", `part /alds/meta.v1 Scope Workitems:Story[Name='a @b+//c'].@Count`},
		{"GET", "/alds/meta.oauth.v1", "", `all of /alds/meta.oauth.v1`},
		{"GET", "/alds/meta.oauth.v1/Story", "", `type /alds/meta.oauth.v1 Story`},
		{"GET", "/alds/meta.oauth.v1/Story/Name", "", `part /alds/meta.oauth.v1 Story Name`},
		{"GET", "/alds/loc.v1//?Greeting'%22hello%22", "", `hello`},
		{"GET", "/alds/loc.oauth.v1/?Greeting'%22hello%22", "", `hello`},
		{"GET", "/alds/loc-2.v1?[Story,Defect]", "", `Backlog Item`},
		{"GET", "/alds/loc-2.oauth.v1/?%5BStory%5D", "", `Backlog Item`},
		{"GET", "/alds/api/localization", "", `texts`},
		{"POST", "/alds/api/localization", "{}", `texts {}`},
		{"GET", "/alds/config.v1/", "", `EffortTracking`},
		{"GET", "/alds/config.oauth.v1", "", `EffortTracking`},
		{"GET", "/alds/api/tokens", "", `tokens by 20 admin=true of `},
		{"GET", "/alds/api/Tokens/?Member=Member:7", "", `tokens by 20 admin=true of Member:7`},
		{"POST", "/alds/api/tokens", "{}", `make by 20 yaml=false {}`},
		{"POST", "/alds/api/tokens", "name: x", `make by 20 yaml=true name: x`},
		{"POST", "/alds/api/tokens/revoke/current", "", `end by 20 admin=true current`},
		{"GET", "/alds/api/webhook?page=5,10", "", `list 5,10`},
		{"POST", "/alds/api/webhook", "{}", `create {}`},
		{"POST", "/alds/api/webhook/7", "{}", `update 7 {}`},
		{"GET", "/alds/api/webhook/7", "", `find 7`},
		{"POST", "/alds/api/webhook/preview", "{}", `preview {}`},
		{"GET", "/alds/api/webhook/delivery/7", "", `delivery 7`},
		{"POST", "/alds/api/webhook/delete/7", "", `delete 7`},
		{"GET", "/alds/api/webhook/status/7", "", `status 7`},
		{"POST", "/alds/api/webhook/test/7", "", `test 7`},
		{"POST", "/alds/api/webhook/redeliver/7", "{}", `redeliver 7 {}`},
		{"GET", "/alds/api/webhook/deliveries/7?state=dropped&page=5", "", `deliveries 7 dropped 5`},
	} {
		resp, got := call(t, a, c.method, c.path, c.body)
		want, _ := json.Marshal(c.want)
		if resp.StatusCode != http.StatusOK || !strings.Contains(got, string(want)) {
			t.Errorf("%s %s: %d %s\nwant %s", c.method, c.path, resp.StatusCode, got, want)
		}
		if ct := resp.Header.Get("Content-Type"); ct != contentType(c.path) {
			t.Errorf("%s %s: Content-Type %q", c.method, c.path, ct)
		}
	}
	attachmentRoutes(t, a)
	detailRoutes(t, a)
	if resp, got := call(t, a, "GET", "/alds/api.xsl", ""); resp.StatusCode != http.StatusOK || got != string(apiXSL) || resp.Header.Get("Content-Type") != "application/xslt+xml" {
		t.Errorf("the stylesheet: %d %s", resp.StatusCode, got)
	}
	checkRoute(t, a)
	for _, r := range Routes() {
		for _, m := range r.Methods {
			if !strings.Contains(log.String(), fmt.Sprintf(`"method":%q,"route":%q`, m, r.Path)) {
				t.Errorf("%s %s has no case", m, r.Path)
			}
		}
	}
}

// checkRoute starts a check of the database.
func checkRoute(t *testing.T, a *API) {
	t.Helper()
	if resp, got := call(t, a, "POST", "/alds/api/system/check", ""); resp.StatusCode != http.StatusAccepted || !strings.Contains(got, `"started"`) {
		t.Errorf("a check is started: %d %s", resp.StatusCode, got)
	}
}

// detailRoutes requests the URLs of assets that events contain.
func detailRoutes(t *testing.T, a *API) {
	t.Helper()
	for path, to := range map[string]string{
		"/alds/assetdetail.v1?oid=Story:7":      "/alds/rest-1.v1/Data/Story/7",
		"/alds/assetdetail.v1/?OID='Story:7:9'": "/alds/rest-1.v1/Data/Story/7/9",
	} {
		resp, got := call(t, a, "GET", path, "")
		if resp.StatusCode != http.StatusFound || resp.Header.Get("Location") != to || got != "" {
			t.Errorf("%s: %d to %q: %s", path, resp.StatusCode, resp.Header.Get("Location"), got)
		}
	}
}

var xmlPath = regexp.MustCompile(`(?i)^/+alds/+(config|meta|rest-1)\.`)

// contentType returns the Content-Type of the answers of a path to a request that does not ask
// for JSON.
func contentType(path string) string {
	switch {
	case strings.HasPrefix(path, "/alds/loc."):
		return "text/plain; charset=utf-8"
	case xmlPath.MatchString(path):
		return "text/xml; charset=utf-8"
	}
	return "application/json"
}

// TestFixedSegments checks that fixedSegments is large enough for all routes. normalizePath removes
// empty segments only among the first fixedSegments segments below the instance, so that the last
// parameter of a route keeps its slashes.
func TestFixedSegments(t *testing.T) {
	for _, r := range Routes() {
		fixed, _, _ := strings.Cut(r.Path, "/*")
		if n := strings.Count(fixed, "/") + 1; n > fixedSegments {
			t.Errorf("%s has %d segments, more than %d", r.Path, n, fixedSegments)
		}
	}
}

func TestRefusals(t *testing.T) {
	a := newAPI(engines{}, io.Discard)
	for _, c := range []struct {
		why, method, path, body string
		status                  int
		allow                   string
	}{
		{"a path nobody serves", "GET", "/alds/nothing", "", 404, ""},
		{"a path below one that is served", "POST", "/alds/api/asset/1/2", "{}", 404, ""},
		{"POST to a request that was accepted", "POST", "/alds/api/asset/1", "{}", 405, "GET"},
		{"the instance alone", "GET", "/alds", "", 404, ""},
		{"another instance", "GET", "/other/api/webhook", "", 404, ""},
		{"the root", "GET", "/", "", 404, ""},
		{"PUT where POST is served", "PUT", "/alds/api/asset", "{}", 405, "POST"},
		{"DELETE of an asset", "DELETE", "/alds/rest-1.v1/Data/Story/1", "", 405, "GET, POST"},
		{"HEAD", "HEAD", "/alds/api/webhook", "", 405, "GET, POST"},
		{"OPTIONS anywhere", "OPTIONS", "/alds/nothing", "", 405, "GET, POST"},
		{"PATCH outside the instance", "PATCH", "/", "", 405, "GET, POST"},
		{"a method nobody knows", "BREW", "/alds/api/asset", "", 405, "POST"},
		{"SEARCH on anything but query.v1", "SEARCH", "/alds/api/asset", "{}", 405, "POST"},
		{"GET where only POST is served", "GET", "/alds/api/asset", "", 405, "POST"},
		{"POST where nothing can be updated", "POST", "/alds/api/webhook/status/7", "{}", 405, "GET"},
		{"a preview in another word", "POST", "/alds/api/asset?previewOnly=1", "{}", 400, ""},
		{"an atomic in another word", "POST", "/alds/api/asset?atomic=yes", "{}", 400, ""},
		{"no body", "POST", "/alds/api/asset", "", 400, ""},
		{"an undo that conflicts refuse", "POST", "/alds/api/undo", `"conflict"`, 409, ""},
		{"a body of spaces", "POST", "/alds/query.v1", " \n", 400, ""},
		{"a plan with another option", "POST", "/alds/api/asset?plan=x&previewOnly=true", "", 400, ""},
		{"a plan with a bad option", "POST", "/alds/api/asset?plan=x&Atomic=y", "", 400, ""},
		{"a plan that is no preview", "POST", "/alds/api/undo?plan=true", "{}", 400, ""},
		{"a path that is not properly encoded", "GET", "/alds/rest-1.v1/Data/%zz", "", 400, ""},
	} {
		resp, body := call(t, a, c.method, c.path, c.body, "Accept", "application/json")
		if resp.StatusCode != c.status || resp.Header.Get("Allow") != c.allow {
			t.Errorf("%s: %d Allow %q, want %d Allow %q", c.why, resp.StatusCode, resp.Header.Get("Allow"), c.status, c.allow)
		}
		if c.method != "HEAD" {
			wantFailure(t, c.why, body)
		}
	}
}

// wantFailure checks that a body has the form of all failures, in JSON or in XML.
func wantFailure(t *testing.T, why, body string) {
	t.Helper()
	var f struct {
		Error      string                     `xml:"Message"`
		Exceptions []struct{ Message string } `xml:"Exception"`
	}
	err := json.Unmarshal([]byte(body), &f)
	if strings.HasPrefix(body, "<") {
		err = xml.Unmarshal([]byte(body), &f)
	}
	if err != nil || f.Error == "" || len(f.Exceptions) != 1 || f.Exceptions[0].Message != f.Error {
		t.Errorf("%s: body %s", why, body)
	}
}

func TestLogin(t *testing.T) {
	a := newAPI(engines{}, io.Discard)
	for _, c := range []struct {
		why, path, header string
		status            int
	}{
		{"a password with a colon", "/alds/api/webhook", "Basic YWRtaW46YTpi", 200},
		{"the scheme in lower case", "/alds/api/webhook", "basic YWRtaW46YTpi", 200},
		{"a good token", "/alds/api/webhook", "Bearer 1.good", 200},
		{"a ticket", "/alds/api/webhook", "Cookie a=b; .v1.ticket.Alds=1.good", 200},
		{"a wrong ticket", "/alds/api/webhook", "Cookie .V1.Ticket.alds=1.bad", 401},
		{"the ticket of another instance", "/alds/api/webhook", "Cookie .V1.Ticket.other=1.good", 401},
		{"no header", "/alds/api/webhook", "", 401},
		{"no header on an unknown path", "/alds/nothing", "", 401},
		{"a scheme nobody serves", "/alds/api/webhook", "Negotiate abc", 401},
		{"Basic without a colon", "/alds/api/webhook", "Basic YWRtaW4=", 401},
		{"Basic that is no base64", "/alds/api/webhook", "Basic !!", 401},
		{"a wrong password", "/alds/api/webhook", "Basic YWRtaW46eA==", 401},
		{"a wrong token", "/alds/api/webhook", "Bearer 1.bad", 401},
	} {
		resp, body := call(t, a, "GET", c.path, "", headerOf(c.header)...)
		if resp.StatusCode != c.status {
			t.Errorf("%s: %d %s", c.why, resp.StatusCode, body)
		}
		if got := resp.Header.Get("WWW-Authenticate"); c.status == 401 && got != `Basic realm="alds"` {
			t.Errorf("%s: WWW-Authenticate %q", c.why, got)
		}
	}
	resp, _ := call(t, a, "GET", "/alds/api/webhook", "", "Authorization", "Basic c2xvdzp4")
	if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") != "2" {
		t.Errorf("too many wrong logins: %d Retry-After %q", resp.StatusCode, resp.Header.Get("Retry-After"))
	}
}

// headerOf returns the header for credentials: Authorization, or a cookie if the text begins
// with "Cookie ".
func headerOf(text string) []string {
	if cookie, ok := strings.CutPrefix(text, "Cookie "); ok {
		return []string{"Authorization", "", "Cookie", cookie}
	}
	return []string{"Authorization", text}
}

func TestStatusOfFaults(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		body   string
	}{
		{fault.Invalidf(12, "Unknown AssetType: Storry"), 400, `{"error":"Unknown AssetType: Storry","exceptions":[{"message":"Unknown AssetType: Storry","position":12}]}`},
		{fault.Invalidf(fault.NoPlace, "bad"), 400, `{"error":"bad","exceptions":[{"message":"bad"}]}`},
		{fault.Deniedf("no"), 403, `{"error":"no","exceptions":[{"message":"no"}]}`},
		{fault.NotFoundf("gone"), 404, `{"error":"gone","exceptions":[{"message":"gone"}]}`},
		{fault.Conflictf(nil, "raced"), 409, `{"error":"raced","exceptions":[{"message":"raced"}]}`},
		{fault.Transientf(nil, "later"), 503, `{"error":"later","exceptions":[{"message":"later"}]}`},
		{fmt.Errorf("load: %w", context.DeadlineExceeded), 503, `{"error":"the request took too long","exceptions":[{"message":"the request took too long"}]}`},
		{errors.New("password hunter2 leaked"), 500, `{"error":"internal error","exceptions":[{"message":"internal error"}]}`},
	} {
		resp, body := call(t, newAPI(engines{err: c.err}, io.Discard), "POST", "/alds/query.v1", `{"from": "Story"}`)
		if resp.StatusCode != c.status || body != c.body {
			t.Errorf("%v: %d %s", c.err, resp.StatusCode, body)
		}
		if got := resp.Header.Get("Retry-After"); (got != "") != (c.status == 503) {
			t.Errorf("%v: Retry-After %q", c.err, got)
		}
	}
}

func TestPanic(t *testing.T) {
	var log bytes.Buffer
	a := newAPI(engines{panics: true}, &log)
	resp, body := call(t, a, "POST", "/alds/query.v1", `{"from": "Story"}`, "X-Request-Id", "abc-1")
	if resp.StatusCode != http.StatusInternalServerError || !strings.Contains(body, `"internal error"`) {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if resp.Header.Get("X-Request-Id") != "abc-1" {
		t.Errorf("X-Request-Id %q", resp.Header.Get("X-Request-Id"))
	}
	if !strings.Contains(log.String(), "the engine broke") || !strings.Contains(log.String(), `"request":"abc-1"`) {
		t.Errorf("log lacks the cause or the id: %s", log.String())
	}
}

func TestLogLine(t *testing.T) {
	var log bytes.Buffer
	a := newAPI(engines{}, &log)
	call(t, a, "GET", "/alds/rest-1.v1/Data/Story/12?where=secret", "", "X-Request-Id", "not a plain id")
	var line struct {
		Msg, Route, Path, Request string
		Status, Member            int
	}
	if err := json.Unmarshal(log.Bytes(), &line); err != nil {
		t.Fatalf("not one line: %v\n%s", err, log.String())
	}
	if line.Msg != "request" || line.Route != "rest-1.v1/Data/:type/:id" || line.Status != 200 || line.Member != 20 ||
		line.Path != "/alds/rest-1.v1/Data/Story/12" || len(line.Request) != 36 {
		t.Errorf("line %+v", line)
	}
}

func TestCompressedBodies(t *testing.T) {
	pack := func(s string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write([]byte(s))
		_ = z.Close()
		return b.String()
	}
	a := newAPI(engines{}, io.Discard)
	for _, c := range []struct {
		why, body, encoding string
		status              int
	}{
		{"gzip", pack(`{"from": "Story"}`), "gzip", 200},
		{"a small body that is larger than the limit when decompressed", pack(strings.Repeat(" ", 10*maxBody)), "gzip", 413},
		{"not gzip", "{}", "gzip", 400},
		{"an unknown encoding", "{}", "br", 400},
	} {
		resp, body := call(t, a, "POST", "/alds/query.v1", c.body, "Content-Encoding", c.encoding)
		if resp.StatusCode != c.status {
			t.Errorf("%s: %d %s", c.why, resp.StatusCode, body)
		}
	}
}

// listening serves the API a on a new listener. It returns the URL of the listener, and a channel
// for the result of Serve.
func listening(t *testing.T, a *API) (url string, served <-chan error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- a.Serve(l) }()
	return "http://" + l.Addr().String(), ended
}

// TestShutdownDoesNotWaitForWhoTakesNothing checks that a server stops in order although a
// client does not read its answer.
func TestShutdownDoesNotWaitForWhoTakesNothing(t *testing.T) {
	begun := make(chan struct{}, 1)
	a := newAPI(engines{stream: func(_ context.Context, flush find.Flush) (w []byte, err error) {
		for w = bytes.Repeat([]byte("x"), 64<<10); err == nil; w, err = flush(w) {
			w = w[:64<<10]
			select {
			case begun <- struct{}{}:
			default:
			}
		}
		return nil, err
	}}, io.Discard)
	a.stall = 50 * time.Millisecond
	base, _ := listening(t, a)
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET /alds/rest-1.v1/Data/Story HTTP/1.1\r\nHost: x\r\nAuthorization: Basic YWRtaW46YTpi\r\n\r\n")
	<-begun
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := a.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

func TestShutdownLetsTheRunningRequestFinish(t *testing.T) {
	e := engines{entered: make(chan struct{}), leave: make(chan struct{})}
	a := newAPI(e, io.Discard)
	url, served := listening(t, a)
	status := make(chan int, 1)
	go func() {
		req, _ := http.NewRequest(http.MethodGet, url+"/alds/api/webhook", http.NoBody)
		req.SetBasicAuth("admin", "a:b")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			status <- 0
			return
		}
		_ = resp.Body.Close()
		status <- resp.StatusCode
	}()
	<-e.entered
	down := make(chan error, 1)
	go func() { down <- a.Shutdown(t.Context()) }()
	if err := <-served; err != nil { // Serve returns while the request still runs
		t.Error(err)
	}
	close(e.leave)
	if got := <-status; got != http.StatusOK {
		t.Errorf("the running request got %d", got)
	}
	if err := <-down; err != nil {
		t.Error(err)
	}
}

// TestBodiesThatAreNotRead checks over a real connection that the answer arrives if the body
// is too large, and if the client is not authenticated.
func TestBodiesThatAreNotRead(t *testing.T) {
	a := newAPI(engines{}, io.Discard)
	url, served := listening(t, a)
	for _, c := range []struct {
		login bool
		body  io.Reader
		want  int
	}{
		{true, strings.NewReader(strings.Repeat(" ", 4*maxBody)), http.StatusRequestEntityTooLarge},
		// A reader without a length is sent in chunks.
		{true, io.MultiReader(strings.NewReader(strings.Repeat(" ", 4*maxBody))), http.StatusRequestEntityTooLarge},
		{false, strings.NewReader(strings.Repeat(" ", 4*maxBody)), http.StatusUnauthorized},
		{false, strings.NewReader("{}"), http.StatusUnauthorized},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/alds/api/asset", c.body)
		if err != nil {
			t.Fatal(err)
		}
		if c.login {
			req.SetBasicAuth("admin", "a:b")
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != c.want {
			t.Errorf("%d, %v, want %d", resp.StatusCode, err, c.want)
		}
		wantFailure(t, "a body that is not read", string(b))
	}
	long, err := http.Get(url + "/alds/rest-1.v1/Data/Story?where=" + strings.Repeat("x", maxHeader))
	if err != nil {
		t.Fatal(err)
	}
	defer long.Body.Close()
	b, err := io.ReadAll(long.Body)
	if err != nil || long.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("too long a URL: %d %v", long.StatusCode, err)
	}
	wantFailure(t, "a URL over the limit", string(b))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := a.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestRespondAsync checks that a request with Prefer: respond-async, in any spelling, gets 202 and
// a Location. If the request was executed earlier, it gets the answer instead.
func TestRespondAsync(t *testing.T) {
	a := newAPI(engines{}, io.Discard)
	for _, c := range []struct {
		path, prefer, key string
		status            int
		answer            string
	}{
		{"asset?atomic=true", "respond-async", "", 202, "accepted atomic=true key= {}"},
		{"asset?atomic=true", "return=minimal, Respond-Async;x=1, wait=10", "new", 202, "accepted atomic=true key=new {}"},
		{"asset?atomic=true", "respond-async", "known", 200, "accepted atomic=true key=known {}"},
		{"asset?atomic=true", "respond-async-not", "", 200, "bulk atomic=true comment="},
		{"asset?atomic=true", "handling=strict", "", 200, "bulk atomic=true comment="},
		{"undo", "respond-async", "", 202, "accepted atomic=false key= {}"},
	} {
		resp, body := call(t, a, "POST", "/alds/api/"+c.path, "{}", "Prefer", c.prefer, "Idempotency-Key", c.key)
		if resp.StatusCode != c.status || body != strconv.Quote(c.answer) {
			t.Errorf("%s: %d %s, want %d %s", c.prefer, resp.StatusCode, body, c.status, c.answer)
		}
		place, applied := resp.Header.Get("Location"), resp.Header.Get("Preference-Applied")
		if strings.HasPrefix(c.answer, "accepted") != (place == "/alds/api/asset/r1" && applied == "respond-async") {
			t.Errorf("%s: Location %q, Preference-Applied %q", c.prefer, place, applied)
		}
	}
}
