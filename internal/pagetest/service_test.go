package pagetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/testproc"
)

const password = "known to the browser"

// site is a service with pages.
type site struct {
	t      *testing.T
	origin string // http://host:port
	base   string // http://host:port/instance
}

// serve runs the service until the test ends, on an empty database.
func serve(t *testing.T, dialect string) *site {
	t.Helper()
	return serveOn(t, dialect, "")
}

// serveOn runs the service on a database that the test has, or on one of its own.
func serveOn(t *testing.T, dialect, database string) *site {
	t.Helper()
	base := testproc.Serve(t, dialect, map[string]string{"ALDS_ADMIN_PASSWORD": password, "DATABASE_URL": database})
	return &site{t: t, origin: strings.TrimSuffix(base, "/alds"), base: base}
}

// object is a JSON object.
type object = map[string]any

// send writes assets, all of which must succeed, and returns the Oids of those that
// were created, in their order.
func (s *site) send(commands ...object) (created []string) {
	s.t.Helper()
	body, err := json.Marshal(commands)
	if err != nil {
		s.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.base+"/api/asset", bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.SetBasicAuth("admin", password)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	var answer struct {
		AssetsCreated   struct{ OidTokens []string }
		CommandFailures struct {
			Count    int
			Commands json.RawMessage
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || res.StatusCode != http.StatusOK || answer.CommandFailures.Count != 0 {
		s.t.Fatalf("%s, %v: %s", res.Status, err, answer.CommandFailures.Commands)
	}
	return answer.AssetsCreated.OidTokens
}

// Texts that a page must show as they are.
const (
	scripts = `<script>alert(1)</script><img src=x onerror=alert(2)>"'><svg onload=alert(3)> &amp; javascript:alert(4)`
	longest = "Donaudampfschifffahrtsgesellschaftskapitaenswitwenrentenauszahlungsstellenverzeichnisdrucker"
)

// stories are those of the project that fill makes: more than a page of a list.
const stories = 60

// fill makes a project with what pages show, and returns the Oids of one asset of each
// type, by its name.
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

// signIn signs a member in, as somebody does who comes to the start page.
func signIn(b *tab, username, password string) {
	b.t.Helper()
	b.open("/alds/ui/sign-in")
	b.fill("[name=username]", username)
	b.fill("[name=password]", password)
	if status := b.follow("[type=submit]"); status != http.StatusOK || b.path() != "/alds/ui/" && b.path() != "/alds/ui/welcome" {
		b.t.Fatalf("signed in, %s is at %s with %d", username, b.path(), status)
	}
}

// find returns what query.v1 answers to queries.
func (s *site) find(t *testing.T, queries string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/query.v1", strings.NewReader(queries))
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("admin", password)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
