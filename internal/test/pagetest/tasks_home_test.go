package pagetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// workday is a service with a sprint in which the administrator and Anna have open items.
type workday struct {
	*site
	story, defect string
	project       string
}

func serveWorkday(t *testing.T) *workday {
	t.Helper()
	browser(t)
	s := serve(t, "sqlite")
	at := func(days int) string { return time.Now().UTC().AddDate(0, 0, days).Format(time.DateOnly) }
	var others []object
	for i := range 55 {
		others = append(others, object{"AssetType": "Story", "Name": fmt.Sprintf("Later %d", i+1), "Owners": "Member:20"})
	}
	made := s.send(
		object{"@s": object{"AssetType": "Schedule", "Name": "Two weeks"}},
		object{"@p": object{"AssetType": "Scope", "Name": "Web shop", "Parent": "Scope:0", "BeginDate": "2026-01-01", "Schedule": "@s", "Workitems": others}},
		object{"@t": object{"AssetType": "Timebox", "Name": "Sprint 7", "Schedule": "@s", "State": "State:101", "BeginDate": at(-3), "EndDate": at(11)}},
		object{"@a": object{"AssetType": "Member", "Name": "Anna Berg", "Nickname": "Anna", "Username": "anna", "Password": password, "DefaultRole": "Role:5"}},
		object{"from": "@p", "execute": object{"op": "AssignMemberWithRole", "args": object{"Member": "@a", "Role": "Role:5"}}},
		object{"AssetType": "Story", "Name": "Pay by card", "Scope": "@p", "Timebox": "@t", "Owners": "Member:20", "Estimate": 5, "ToDo": 3, "Children": []object{
			{"AssetType": "Task", "Name": "Choose a provider", "Owners": "Member:20", "ToDo": 4},
		}},
		object{"AssetType": "Defect", "Name": "The card is refused", "Scope": "@p", "Timebox": "@t", "Owners": "@a"},
		object{"AssetType": "Story", "Name": "Old card reader", "Scope": "@p", "Timebox": "@t"},
	)
	s.send(object{"from": "Story", "where": object{"Name": "Old card reader"}, "execute": "Inactivate"})
	w := &workday{site: s, project: cut(made[1])}
	var found [][]struct {
		Oid  string `json:"_oid"`
		Name string
	}
	s.post("/query.v1", object{"from": "PrimaryWorkitem", "filter": []string{"Timebox!=''", "AssetState='Active'"}, "select": []string{"Name"}, "sort": "Name"}, &found)
	w.story, w.defect = found[0][0].Oid, found[0][1].Oid
	return w
}

// TestMyWork checks what the first page shows, with and without script.
func TestMyWork(t *testing.T) {
	t.Parallel()
	s := serveWorkday(t)
	s.as("anna").send(object{"from": s.story, "update": object{"Estimate": 8}})
	s.send(object{"from": s.defect, "update": object{"Estimate": 1}})
	b := newTab(t, s.origin)
	signIn(b, "admin", password)
	b.waitGone("[hx-trigger=load]")
	page := b.text("main")
	for _, part := range []string{"Pay by card", "Choose a provider", "Later 1", "All my open items", "10 days left", "1 of 3 items closed", "2 of mine open", "Estimate: 5 → 8", "Anna Berg"} {
		if !strings.Contains(page, part) {
			t.Errorf("my work does not show %q: %s", part, page)
		}
	}
	for _, part := range []string{"The card is refused", "Waiting for me", "Old card reader"} {
		if strings.Contains(page, part) {
			t.Errorf("my work shows %q", part)
		}
	}
	if first := b.text("main table tbody"); !strings.Contains(first, "Pay by card") || strings.Contains(first, "Later") {
		t.Errorf("the first group is %s", first)
	}
	if n := eval[int](b, `document.querySelectorAll("main tbody tr").length`); n != 50 {
		t.Errorf("my work has %d items", n)
	}
	if !b.exists(".sprint svg") || !b.exists("#changes") {
		t.Errorf("the burndown or the changes are missing: %s", page)
	}
	b.follow("main a[href$='/ui/open']")
	if n := eval[int](b, `document.querySelectorAll("main tbody tr").length`); n != 57 {
		t.Errorf("there are %d open items", n)
	}
	b.withoutScript()
	b.open("/alds/ui/?x")
	b.follow("main a[href$='/ui/changes']")
	if text := b.text("main"); !strings.Contains(text, "Estimate: 5 → 8") || strings.Contains(text, "The card is refused") {
		t.Errorf("the changes are %s", text)
	}
}

// TestSearchFromEverywhere performs the searches that need no click on a result.
func TestSearchFromEverywhere(t *testing.T) {
	t.Parallel()
	s := serveWorkday(t)
	b := newTab(t, s.origin)
	signIn(b, "admin", password)
	card := assetPage(s.story)
	for _, c := range []struct {
		task   string
		budget int
		do     func(c *counter)
		at     string
	}{
		{"9 by number", 2, func(c *counter) { c.write("#search input", "S-01056"); c.enter() }, card},
		{"9 by number, keys only", 2, func(c *counter) { c.keys("1056"); c.enter() }, card},
		{"10 by two words", 2, func(c *counter) { c.write("#search input", "card pay"); c.enter() }, card},
		{"10 by two words, keys only", 3, func(c *counter) { c.slash(); c.keys("card pay"); c.enter() }, card},
		{"10 the second result", 4, func(c *counter) {
			c.slash()
			c.keys("card")
			c.waitFor("#search-found a + a")
			c.press(kb.ArrowDown)
			c.enter()
		}, assetPage(s.defect)},
		{"a person's items", 3, func(c *counter) { c.slash(); c.keys("berg"); c.enter() }, "/alds/ui/open?owner=Member%3A"},
		{"a recent project", 3, func(c *counter) { c.press("k", chromedp.ModifierCtrl); c.keys("web sh"); c.enter() }, "/alds/ui/project/" + s.project},
		{"the projects", 2, func(c *counter) { c.press("g"); c.loads(func() { c.press("p") }) }, "/alds/ui/projects"},
	} {
		t.Run(c.task, func(t *testing.T) {
			b.open("/alds/ui/project/" + s.project + "/flow")
			if c.at == "/alds/ui/open?owner=Member%3A" { // no row of the page has the focus
				b.open("/alds/ui/profile")
			}
			one := &counter{tab: b}
			c.do(one)
			if got := strings.Replace(b.path(), "%3a", "%3A", 1); !strings.HasPrefix(got, strings.NewReplacer("Story:", "Story%3A", "Defect:", "Defect%3A").Replace(c.at)) {
				t.Errorf("it leads to %s, want %s", got, c.at)
			}
			one.within(c.budget)
		})
	}
	b.open("/alds/ui/search?q=card")
	if text := b.text("#hits"); !strings.Contains(text, "Closed S-01057 Old card reader") || strings.Index(text, "Old card reader") < strings.Index(text, "Pay by card") {
		t.Errorf("the results are %s", text)
	}
	b.open("/alds/ui/project/" + s.project)
	b.press("k", chromedp.ModifierCtrl)
	accessible(t, b)
	b.write("#palette input", "sign out")
	b.waitFor("#palette a[aria-selected=true]")
	b.loads(func() { b.press(kb.Enter) })
	if b.path() != "/alds/ui/sign-in" || eval[bool](b, `localStorage.getItem("alds-projects") !== null`) {
		t.Errorf("signed out, the browser is at %s and knows the projects: %s", b.path(), eval[string](b, `String(localStorage.getItem("alds-projects"))`))
	}
}

// slash presses the key of the search. In the browser of the tests, the key also types its character.
func (c *counter) slash() {
	c.t.Helper()
	c.press("/")
	c.focused("#search input")
	eval[string](c.tab, `document.querySelector("#search input").value = ""`)
}

// keys types a text into whatever has the focus.
func (c *counter) keys(text string) {
	c.t.Helper()
	c.n++
	for _, r := range text {
		c.tab.press(string(r))
	}
}
