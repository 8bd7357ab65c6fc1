package pagetest

import (
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
