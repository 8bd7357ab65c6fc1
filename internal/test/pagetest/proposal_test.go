package pagetest

import (
	"net/http"
	"strings"
	"testing"
)

// TestProposal applies a proposal on its page, after another change has made it differ.
func TestProposal(t *testing.T) {
	t.Parallel()
	browser(t)
	s := serve(t, "sqlite")
	story := s.send(object{"AssetType": "Story", "Name": "Pay by card", "Scope": "Scope:0"})[0]
	epic := s.send(object{"AssetType": "Epic", "Name": "Checkout", "Scope": "Scope:0"})[0]
	var planned struct{ Plan string }
	s.post("/api/asset?previewOnly=true&plan=true", []object{
		{"from": story, "update": object{"Estimate": 5, "Super": epic}},
		{"AssetType": "Story", "Name": "Pay by invoice", "Scope": "Scope:0", "Order": object{"Before": story}},
	}, &planned)
	var kept struct{ Proposal string }
	s.post("/api/proposals", object{"plan": planned.Plan, "name": "Split the payment", "scope": "Scope:0", "description": "Two ways to pay."}, &kept)

	b := newTab(t, s.origin)
	b.expect("409")
	signIn(b, "admin", password)
	b.open("/alds/ui/project/Scope:0/proposals")
	b.screenshot("proposals")
	if shown := b.text("main"); !strings.Contains(shown, "Split the payment") || !strings.Contains(shown, "Administrator") {
		t.Errorf("the open proposals are %s", shown)
	}
	b.open(assetPage(kept.Proposal))
	b.click("#operations > summary")
	b.screenshot("proposal")
	for _, want := range []string{"What it would change", "Pay by card", "Checkout", "new Story", "Pay by invoice", "before Pay by card", "Two ways to pay.", "Decline"} {
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

	s.send(object{"from": story, "update": object{"Estimate": 3}})
	if status := b.submit("form[action$=apply]"); status != http.StatusConflict || !strings.Contains(b.text("main"), "the effect would not be the one that the plan shows") {
		t.Errorf("%d: %s", status, b.text("main"))
	}
	b.screenshot("proposal-differs")
	eval[any](b, `document.querySelector("form[action$=renew]").closest("details").open = true`)
	if status := b.submit("form[action$=renew]"); status != http.StatusOK || !strings.Contains(b.text("main"), "Tried again") {
		t.Errorf("%d: %s", status, b.text("main"))
	}
	if status := b.submit("form[action$=apply]"); status != http.StatusOK || !strings.Contains(b.text("main"), "What it was to change") {
		t.Errorf("%d: %s", status, b.text("main"))
	}
	b.screenshot("proposal-applied")
	if b.html() == "" || strings.Contains(b.html(), `action="/alds/ui/asset/`+kept.Proposal+`/apply"`) {
		t.Error("it can be applied again")
	}
	b.open("/alds/ui/project/Scope:0/proposals")
	if shown := b.text("main"); !strings.Contains(shown, "There are no open proposals.") {
		t.Errorf("the open proposals are %s", shown)
	}
	b.open(assetPage(story))
	if shown := b.text("main"); !strings.Contains(shown, "Checkout") {
		t.Errorf("the story is %q", shown)
	}
}
