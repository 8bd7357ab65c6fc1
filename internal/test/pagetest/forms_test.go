package pagetest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// submit sends a form of a page, with the token of a form. It returns the status and the page, and for a redirect the
// address.
func (v *visitor) submit(path string, fields url.Values) (status int, answer string) {
	v.t.Helper()
	fields.Set("csrf", regexp.MustCompile(`name="csrf" value="([^"]+)"`).FindStringSubmatch(v.get("/ui/console"))[1])
	req, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, v.s.base+path, strings.NewReader(fields.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return v.answered(req)
}

// answered sends a request, and follows no redirect.
func (v *visitor) answered(req *http.Request) (status int, answer string) {
	v.t.Helper()
	req.AddCookie(&http.Cookie{Name: ".V1.Ticket.alds", Value: v.session}) //nolint:gosec // a cookie of a request
	req.Header.Set("Accept", "text/html")
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return res.StatusCode, res.Header.Get("Location") + string(body)
}

// TestForms sends the forms of members and subscriptions, right and wrong, as a browser without script does.
func TestForms(t *testing.T) {
	t.Parallel()
	s := serve(t, "sqlite")
	v := s.visitor("admin", password)
	made := s.send(object{"AssetType": "Member", "Name": "Ann", "Nickname": "Ann", "DefaultRole": "Role:8"},
		object{"AssetType": "Scope", "Name": "Shop", "Parent": "Scope:0", "BeginDate": "2026-01-01"})
	ann, shop := made[0], made[1]
	story := s.send(object{"AssetType": "Story", "Name": "Pay", "Scope": shop})[0]
	_, number, _ := strings.Cut(story, ":")
	page := "/assetdetail.v1?oid=" + story
	var hook struct{ ID string }
	s.post("/api/webhook", object{"url": "http://127.0.0.1:1/", "webhookId": "mine", "eventTypes": []object{{"type": "AssetChanged", "from": "Story", "attributes": []string{"Name"}, "userContext": ann}}}, &hook)
	member, edit, acts := "/ui/members/"+ann, "/ui/webhooks/"+hook.ID+"/edit", "/ui/webhooks/"+hook.ID
	form := func(pairs ...string) url.Values {
		f := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			f.Set(pairs[i], pairs[i+1])
		}
		return f
	}
	const definitions = `[{"type": "AssetChanged", "from": "Story"}]`
	for _, c := range []struct {
		path   string
		fields url.Values
		status int
		want   string
	}{
		{member + "/role", form("role", "Role:4"), 303, "done=saved"},
		{member + "/role", form("role", "Role:99"), 400, "Ann"},
		{member + "/login", form("username", "ann", "password", "a long password of Ann"), 303, "done=saved"},
		{member + "/login", form("username", "admin"), 400, "Ann"},
		{member + "/disable", form(), 303, "done=saved"},
		{member + "/enable", form(), 303, "done=saved"},
		{member + "/join", form("project", "Shop", "role", "Role:4", "owner", "1"), 303, "done=saved"},
		{member + "/join", form("project", "no such project", "role", "Role:4"), 400, "Ann"},
		{member + "/leave", form("project", shop), 303, "done=saved"},
		{member + "/leave", form("project", "Shop"), 404, ""},
		{member + "/inactivate", form(), 303, "done=saved"},
		{member + "/reactivate", form(), 303, "done=saved"},
		{member + "/praise", form(), 404, ""},
		{"/ui/members/Story:1/role", form(), 404, ""},
		{member + "/tokens/none", form(), 404, ""},
		{"/ui/members/roles", form("in", shop, "member", ann, "role", "Role:4", "owner", "1"), 303, "done=saved"},
		{"/ui/members/roles", form("in", shop, "member", ann), 303, "done=saved"},
		{"/ui/members/roles", form("in", shop, "member", ann, "role", "Role:99"), 400, ""},
		{"/ui/members/roles", form("in", "Shop", "member", ann), 400, "no valid project"},
		{"/ui/asset/" + story, form("moment", "now"), 400, "of which version"},
		{"/ui/asset/" + story + "/apply", form("plan", "none"), 400, "names no plan"},
		{"/ui/undo", form("request", "none"), 400, ""},
		{"/ui/applications", form(), 400, "Write the name of the program."},
		{"/ui/applications", form("name", "reader", "writes", "none", "endsWithPassword", "1"), 200, "reader"},
		{"/ui/applications", form("name", "planner", "writes", "plans", "changes", "10", "addresses", "10.0.0.0/8"), 200, "planner"},
		{"/ui/applications", form("name", "proposer", "writes", "proposals", "changes", "ten"), 400, "whole number"},
		{"/ui/revoke/none", form(), 404, ""},
		{"/ui/system/settings", form("StoryTrackingLevel", "Mix"), 303, "settings"},
		{"/ui/system/settings", form("StoryTrackingLevel", "Some"), 400, ""},
		{"/ui/model/custom/nothing", form("work", "change"), 404, ""},
		{"/ui/model/StoryStatus", form("values", ""), 400, "Write values"},
		{"/ui/model/StoryStatus", form("values", strings.Repeat("a\n", 501)), 400, "at most 500 values"},
		{"/ui/project/" + shop + "/move", form("item", "nothing", "status", "nothing"), 400, ""},
		{"/ui/members/new", form("name", "Bob", "username", "bob", "email", "bob@example.org", "role", "Role:4", "project", "Shop"), 200, "Bob"},
		{"/ui/members/new", form("name", "Bob", "username", "ann", "role", "Role:4"), 400, "Bob"},

		{edit, form("webhookId", "mine", "url", "http://127.0.0.1:1/", "as", "json", "eventTypes", definitions, "maxBatch", "10", "secret", "own", "ownSecret", "whsec_bm90IGEgc2VjcmV0IGF0IGFsbCwgaXMgaXQ="), 303, hook.ID},
		{edit, form("webhookId", "mine", "url", "http://127.0.0.1:1/", "as", "json", "eventTypes", definitions, "authorization", "Bearer x", "secret", "none"), 303, hook.ID},
		{edit, form("webhookId", "mine", "url", "http://127.0.0.1:1/", "as", "json", "eventTypes", definitions, "noAuthorization", "1"), 303, hook.ID},
		{edit, form("webhookId", "mine", "url", "http://127.0.0.1:1/", "as", "json", "eventTypes", "[{"), 400, "The definitions are no JSON"},
		{edit, form("webhookId", "mine", "url", "http://127.0.0.1:1/", "as", "json", "eventTypes", definitions, "maxBatch", "ten"), 400, "write a number from 1 to 100"},
		{edit, form("webhookId", "mine", "url", "", "as", "json", "eventTypes", `[{"type": "AssetChanged", "from": "Nothing"}]`), 400, ""},
		{edit, form("webhookId", "mine", "url", "http://127.0.0.1:1/", "changed", "1"), 400, ""},
		{"/ui/webhooks/new", form("url", "http://127.0.0.1:1/", "as", "json", "eventTypes", definitions), 400, "Write a name."},
		{"/ui/webhooks/new", form("webhookId", "own", "url", "http://127.0.0.1:1/", "as", "json", "eventTypes", definitions, "secret", "own"), 400, "Write the signing secret"},
		{acts + "/pause", form(), 303, "done=webhook-pause"},
		{acts + "/resume", form(), 303, "done=webhook-resume"},
		{acts + "/disable", form(), 303, "done=webhook-disable"},
		{acts + "/enable", form(), 303, "done=webhook-enable"},
		{acts + "/redeliver", form("since", "2026-01-31 12:00", "until", "2026-01-31 13:00"), 303, "done=webhook-"},
		{acts + "/redeliver", form("since", "at noon"), 400, "is no time such as"},
		{acts + "/redeliver", form(), 400, "Say since when"},
		{acts + "/praise", form(), 404, ""},
		{"/ui/webhooks/none/pause", form(), 404, ""},
		{acts + "/delete", form(), 400, "Mark that you are sure"},
		{acts + "/delete", form("sure", "1"), 303, "done=webhook-delete"},
		{acts + "/pause", form(), 404, ""},
	} {
		if c.path == edit { // without it the subscription counts as changed by somebody else
			c.fields.Set("updated", regexp.MustCompile(`name="updated" value="([^"]+)"`).FindStringSubmatch(v.get(edit))[1])
		}
		if status, answer := v.submit(c.path, c.fields); status != c.status || !strings.Contains(answer, c.want) {
			t.Errorf("%s %v: %d %.1500s; want %d %q", c.path, c.fields, status, answer, c.status, c.want)
		}
	}
	var list struct{ Tokens []struct{ ID string } }
	if err := json.Unmarshal([]byte(v.get("/api/tokens")), &list); err != nil {
		t.Fatal(err)
	}
	for _, token := range list.Tokens {
		v.get("/ui/applications/" + token.ID)
	}
	for path, want := range map[string]int{
		"/ui/members?q=Ann&state=active&role=Role:4":                           200,
		"/ui/members?state=praised":                                            400,
		"/ui/members?role=Story:1":                                             400,
		"/ui/members/roles?columns=1&q=Ann":                                    200,
		"/ui/members/roles?columns=-1":                                         400,
		"/ui/members/roles?project=Scope:99999":                                404,
		"/ui/members/audit?page=1":                                             200,
		"/ui/members/audit?after=nothing":                                      400,
		"/ui/members/Member:99999":                                             404,
		page + "&tab=nothing":                                                  400,
		page + "&tab=activity&after=some":                                      400,
		page + "&tab=activity&after=1":                                         200,
		page + "&tab=history&start=-1":                                         400,
		page + "&tab=history&from=1&to=2":                                      404,
		"/assetdetail.v1?oid=nothing":                                          400,
		"/assetdetail.v1?oid=Workitem:" + number:                               200,
		"/assetdetail.v1?Oid=" + story:                                         200,
		"/ui/asset/" + story + "/totals":                                       303,
		"/ui/applications/" + uuid.NewString():                                 404,
		"/ui/model/custom/nothing":                                             404,
		"/ui/model?q=" + strings.Repeat("a", 300):                              400,
		"/ui/model?q=%ff":                                                      400,
		"/ui/projects?find=Shop":                                               200,
		"/ui/console/names?type=a.b":                                           404,
		"/ui/project/" + shop + "/flow?from=2099-01-01":                        400,
		"/ui/project/" + shop + "/flow?from=2000-01-01":                        400,
		"/ui/project/" + shop + "/flow?to=2099-01-01":                          200,
		"/ui/project/" + shop + "/sprint/Timebox:99999":                        404,
		"/ui/project/" + shop + "/sprint/Story:1":                              404,
		"/ui/project/" + shop + "/sprint/Story:1/burndown":                     404,
		"/ui/project/" + shop + "?closed=1&owner=none&sprint=none&status=none": 200,
		"/ui/project/" + shop + "?owner=Ann&status=StoryStatus:133":            200,
		"/ui/project/" + shop + "?find=" + strings.Repeat("a", 201):            400,
		"/ui/project/" + shop + "?page=2":                                      200,
		"/ui/undo?request=none":                                                400,
		"/ui/undo?by=none&since=2026-01-01T00:00:00Z":                          400,
		"/ui/undo?asset=" + story + "&moment=0":                                400,
		"/ui/members/Story:1":                                                  404,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if status, answer := v.answered(req); status != want {
			t.Errorf("%s: %d, want %d: %.800s", path, status, want, answer)
		}
	}
}
