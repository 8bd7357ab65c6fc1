package pagetest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestUndo takes back a change from the history of an asset, and a whole write from its activity. The
// reader sees first what the undo changes, and what has changed since.
func TestUndo(t *testing.T) {
	t.Parallel()
	browser(t)
	s := serve(t, "sqlite")
	story := s.send(object{"AssetType": "Story", "Name": "Pay by card", "Scope": "Scope:0"})[0]
	other := s.send(object{"AssetType": "Story", "Name": "Pay by invoice", "Scope": "Scope:0"})[0]
	s.send(object{"from": story, "update": object{"Name": "Pay later", "Estimate": 5}}, object{"from": other, "update": object{"Name": "Pay never"}})
	b := newTab(t, s.origin)
	b.expect("409")
	signIn(b, "admin", password)

	b.open(assetPage(story) + "&tab=history")
	if status := b.follow(`tbody tr:first-child a[href*="/ui/undo"]`); status != http.StatusOK {
		t.Fatalf("%d: %s", status, b.html())
	}
	b.screenshot("undo")
	if shown := b.text("main"); !strings.Contains(shown, "Pay later") || !strings.Contains(shown, "Pay by card") || strings.Contains(shown, "Pay never") {
		t.Errorf("the page shows %q", shown)
	}
	for _, what := range append(overflows(b), unreached(b)...) {
		t.Error(what)
	}
	for _, v := range violations(b) {
		t.Error(v)
	}
	b.follow(`main a[href*="request="]`)
	if shown := b.text("main"); !strings.Contains(shown, "Pay never") {
		t.Errorf("the page of the whole write shows %q", shown)
	}

	s.send(object{"from": story, "update": object{"Name": "Pay in March"}})
	if status := b.submit("main form"); status != http.StatusConflict || !strings.Contains(b.text("main"), "Title: changed since by Administrator") {
		t.Errorf("%d: %s", status, b.text("main"))
	}
	b.screenshot("undo-conflict")
	if status := b.submit("main form"); status != http.StatusOK || !strings.Contains(b.text("main"), "Versions") {
		t.Errorf("%d: %s", status, b.text("main"))
	}
	b.open(assetPage(story))
	if shown := b.text("main"); !strings.Contains(shown, "Pay in March") {
		t.Errorf("the story is %q", shown)
	}
	b.open(assetPage(other))
	if shown := b.text("main"); !strings.Contains(shown, "Pay by invoice") {
		t.Errorf("the other story is %q", shown)
	}
}

// TestATokenAndItsLimits creates an access token with limits, opens its page, and takes back what it has written.
func TestATokenAndItsLimits(t *testing.T) {
	t.Parallel()
	browser(t)
	s := serve(t, "sqlite")
	s.send(object{"AssetType": "Scope", "Name": "Till", "Parent": "Scope:0", "BeginDate": "2026-01-01"})
	b := newTab(t, s.origin)
	signIn(b, "admin", password)
	b.open("/alds/ui/applications")
	b.fill("[name=name]", "Triage")
	eval[any](b, `[...document.querySelector("[name=project]").options].find(o => o.text == "Till").selected = true`)
	b.fill("[name=types]", "Story, Defect")
	b.fill("[name=hourly]", "500")
	b.click("[name=noDeletes]")
	b.screenshot("applications-form")
	if status := b.submit("form[action$=applications]"); status != http.StatusOK {
		t.Fatalf("%d: %s", status, b.text("main"))
	}
	token := b.text("#token")
	project := s.find(object{"from": "Scope", "where": object{"Name": "Till"}})
	s.write(token, object{"AssetType": "Story", "Name": "Made by a program", "Scope": project})

	b.open("/alds/ui/applications")
	b.screenshot("applications-tokens")
	if status := b.follow(`tbody a[href*="/ui/applications/"]`); status != http.StatusOK {
		t.Fatalf("%d: %s", status, b.html())
	}
	b.screenshot("application")
	for _, want := range []string{"It deletes nothing.", "Projects: Till", "Types: Story, Defect.", "At most 500 changes in an hour."} {
		if shown := b.text("main"); !strings.Contains(shown, want) {
			t.Errorf("the page does not show %q: %s", want, shown)
		}
	}
	for _, what := range append(overflows(b), unreached(b)...) {
		t.Error(what)
	}
	for _, v := range violations(b) {
		t.Error(v)
	}
	b.follow(`main a[href*="/ui/undo"]`)
	b.screenshot("application-undo")
	if shown := b.text("main"); !strings.Contains(shown, "Made by a program") {
		t.Errorf("the page shows %q", shown)
	}
	b.submit("main form")
	if left := s.find(object{"from": "Story", "where": object{"Name": "Made by a program"}}); left != "" {
		t.Errorf("%s is still there", left)
	}
}

// find returns the Oid of the first asset that a query finds, or "".
func (s *site) find(query object) string {
	s.t.Helper()
	var rows [][]struct {
		Oid string `json:"_oid"`
	}
	if s.post("/query.v1", query, &rows); len(rows[0]) == 0 {
		return ""
	}
	return rows[0][0].Oid
}

// write sends a command with an access token.
func (s *site) write(token string, command object) {
	s.t.Helper()
	text, err := json.Marshal(command)
	if err != nil {
		s.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.base+"/api/asset", bytes.NewReader(text))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if body := s.read(req); !bytes.Contains(body, []byte(`"count":1`)) {
		s.t.Fatalf("%s: %s", text, body)
	}
}
