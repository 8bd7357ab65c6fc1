package pagetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/alds-dev/alds/internal/test/testproc"
)

const password = "known to the browser"

// site is a running service with the user interface.
type site struct {
	t      *testing.T
	origin string // http://host:port
	base   string // http://host:port/instance
	user   string // username with which requests are sent
}

// serve runs the service on an empty database until the test ends.
func serve(t *testing.T, dialect string) *site {
	t.Helper()
	return serveOn(t, dialect, "")
}

// serveOn runs the service on the database with the URL database. If that is empty, it creates a database.
func serveOn(t *testing.T, dialect, database string) *site {
	t.Helper()
	base := testproc.Serve(t, dialect, map[string]string{"ALDS_ADMIN_PASSWORD": password, "DATABASE_URL": database})
	return newSite(t, base)
}

// newSite returns a site for the service at a URL. It sends requests as the administrator.
func newSite(t *testing.T, base string) *site {
	return &site{t: t, origin: strings.TrimSuffix(base, "/alds"), base: base, user: "admin"}
}

// object is a JSON object.
type object = map[string]any

// as returns the same service, with requests sent as another member.
func (s *site) as(user string) *site {
	other := *s
	other.user = user
	return &other
}

// post sends a body as JSON and decodes the answer. The request must succeed.
func (s *site) post(path string, body, answer any) {
	s.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.base+path, bytes.NewReader(text))
	if err != nil {
		s.t.Fatal(err)
	}
	req.SetBasicAuth(s.user, password)
	if got := s.read(req); json.Unmarshal(got, answer) != nil {
		s.t.Fatalf("%s: %s", path, got)
	}
}

// get requests a path and decodes the answer.
func (s *site) get(path string, answer any) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.base+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.SetBasicAuth(s.user, password)
	if got := s.read(req); json.Unmarshal(got, answer) != nil {
		s.t.Fatalf("%s: %s", path, got)
	}
}

// read sends a request and returns the body of the answer. The status must be 200 or 201.
func (s *site) read(req *http.Request) []byte {
	s.t.Helper()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode > http.StatusCreated {
		s.t.Fatalf("%s %s: %s, %v: %s", req.Method, req.URL, res.Status, err, b)
	}
	return b
}

// outcome is the decoded answer to commands.
type outcome struct {
	AssetsCreated   struct{ OidTokens []string }
	CommandFailures struct {
		Commands []struct {
			Error struct {
				Message            string
				SourceCommandIndex int
			}
		}
	}
}

// send posts commands and returns the Oids of the created assets in their order. All commands must succeed.
func (s *site) send(commands ...object) (created []string) {
	s.t.Helper()
	var answer outcome
	if s.post("/api/asset", commands, &answer); len(answer.CommandFailures.Commands) > 0 {
		s.t.Fatalf("%+v", answer.CommandFailures.Commands)
	}
	return answer.AssetsCreated.OidTokens
}

// Texts that pages must show unchanged: one with scripts and one that is a very long word.
const (
	scripts = `<script>alert(1)</script><img src=x onerror=alert(2)>"'><svg onload=alert(3)> &amp; javascript:alert(4)`
	longest = "Donaudampfschifffahrtsgesellschaftskapitaenswitwenrentenauszahlungsstellenverzeichnisdrucker"
)

// stories is how many similar stories fill creates. They are more than a list shows on one page.
const stories = 60

// fill creates a project with assets for all pages. The key of the result is a type, and the value is the
// Oid of the first created asset of this type.
func (s *site) fill() map[string]string {
	s.t.Helper()
	var items []object
	for i := range stories {
		items = append(items, object{"AssetType": "Story", "Name": fmt.Sprintf("Pay by card %d", i+1), "Estimate": i % 8})
	}
	items = append(items,
		object{"AssetType": "Story", "Name": scripts, "Description": "<p>A receipt.</p>" + scripts, "Children": []object{
			{"AssetType": "Task", "Name": "Choose a provider " + scripts},
			{"AssetType": "Test", "Name": "A card that has expired"},
		}},
		object{"AssetType": "Story", "Name": longest, "Description": strings.Repeat(longest, 10)},
		object{"AssetType": "Story", "Name": "الدفع بالبطاقة 支付 💳"},
		object{"AssetType": "Defect", "Name": "The receipt is empty"},
	)
	created := s.send(
		object{"AssetType": "Member", "Name": "Ada " + longest, "Nickname": "Ada", "Username": "ada", "DefaultRole": "Role:4"},
		object{"@every": object{"AssetType": "Schedule", "Name": "Two weeks"}},
		object{"@shop": object{"AssetType": "Scope", "Name": "Web shop " + scripts, "Parent": "Scope:0", "BeginDate": "2026-01-01", "Schedule": "@every", "Workitems": items}},
		object{"AssetType": "Scope", "Name": longest + scripts, "Parent": "@shop", "BeginDate": "2026-01-01"},
		object{"@sprint": object{
			"AssetType": "Timebox", "Name": "Sprint " + scripts, "Schedule": "@every", "State": "State:101",
			"BeginDate": time.Now().AddDate(0, 0, -3).Format(time.DateOnly), "EndDate": time.Now().AddDate(0, 0, 11).Format(time.DateOnly),
		}},
		object{"AssetType": "StoryStatus", "Name": "Waits " + scripts},
		object{"from": "Story", "where": object{"Name": scripts}, "update": object{
			"Timebox": "@sprint", "ToDo": 5, "Status": "Waits " + scripts, "Owners": []string{"Member:20"}, "Priority": "High", "Estimate": 3,
		}},
		object{"from": "Story", "where": object{"Estimate": 5}, "update": object{"Timebox": "@sprint", "ToDo": 2, "Status": "In Progress"}},
		object{"from": "Story", "where": object{"Estimate": 7}, "execute": "Inactivate"},
	)
	oids := map[string]string{}
	for _, oid := range created {
		typ, _, _ := strings.Cut(oid, ":")
		if oids[typ] == "" {
			oids[typ] = oid
		}
	}
	return oids
}

// signIn signs a member in with the form of the sign-in page.
func signIn(b *tab, username, password string) {
	b.t.Helper()
	b.open("/alds/ui/sign-in")
	b.fill("[name=username]", username)
	b.fill("[name=password]", password)
	if status := b.follow("[type=submit]"); status != http.StatusOK || b.path() != "/alds/ui/" && b.path() != "/alds/ui/welcome" {
		b.t.Fatalf("signed in, %s is at %s with %d", username, b.path(), status)
	}
}

// signInAs makes the tab b use the session of another tab on the same site.
func signInAs(b, other *tab) {
	b.t.Helper()
	found := send(other, "read the cookies", func(ctx context.Context, target *chromedp.Target) (network.GetCookiesResult, error) {
		return cdp.Call(ctx, target, network.GetCookies, network.GetCookiesParams{})
	})
	for _, c := range found.Cookies {
		command(b, network.SetCookie, network.SetCookieParams{Name: c.Name, Value: c.Value, URL: b.site, Path: c.Path, HTTPOnly: &c.HTTPOnly, SameSite: c.SameSite})
	}
}
