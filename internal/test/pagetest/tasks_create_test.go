package pagetest

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// write types a text into a field that has the focus already, or that the task clicks on first.
func (c *counter) write(selector, text string) {
	c.t.Helper()
	c.n++
	c.tab.write(selector, text)
}

// enter presses Enter and waits for the next page.
func (c *counter) enter() {
	c.t.Helper()
	c.n++
	c.loads(func() { c.tab.press(kb.Enter) })
}

// follow clicks on something that leads to another page.
func (c *counter) follow(selector string) {
	c.t.Helper()
	c.n++
	c.tab.follow(selector)
}

// focused fails the test if the field has not the focus.
func (c *counter) focused(selector string) {
	c.t.Helper()
	if !eval[bool](c.tab, `document.activeElement === document.querySelector(`+quote(selector)+`)`) {
		c.t.Errorf("%s: %s has not the focus, but %s", c.path(), selector, eval[string](c.tab, "document.activeElement.outerHTML.slice(0, 200)"))
	}
}

// TestTasksOfAStart performs the first tasks of a team: a project, a sprint, items, an epic and tasks.
func TestTasksOfAStart(t *testing.T) {
	t.Parallel()
	browser(t)
	s := serve(t, "sqlite")
	b := newTab(t, s.origin)
	signIn(b, "admin", password)
	task := func(budget int, do func(c *counter)) {
		t.Helper()
		c := &counter{tab: b}
		do(c)
		c.within(budget)
	}
	shows := func(part string) {
		t.Helper()
		if text := b.text("main"); !strings.Contains(text, part) {
			t.Errorf("%s does not show %q: %s", b.path(), part, text)
		}
	}

	task(4, func(c *counter) { // the first project of an empty installation
		c.focused("[name=name]")
		c.write("[name=name]", "Shop")
		c.enter()
		shows("Backlog")
	})
	project := strings.TrimPrefix(strings.Split(b.path(), "?")[0], "/alds/ui/project/")
	if strings.Contains(project, "%3A") {
		project = strings.ReplaceAll(project, "%3A", ":")
	}
	task(4, func(c *counter) { // a sprint of two weeks from next Monday
		c.follow(".views a[href$=sprints]")
		c.follow("main a[href*='new/Timebox']")
		days := eval[[]string](b, `["#f-BeginDate", "#f-EndDate"].map(s => document.querySelector(s).value)`)
		first, _ := time.Parse(time.DateOnly, days[0])
		last, _ := time.Parse(time.DateOnly, days[1])
		if first.Weekday() != time.Monday || last.Sub(first) != 13*24*time.Hour {
			t.Errorf("the sprint is from %s to %s", days[0], days[1])
		}
		c.enter()
		shows("Sprint 1")
	})
	task(3, func(c *counter) { // a story in the sprint
		c.write("[name='f.Name']", "Pay by card")
		c.enter()
		shows("Pay by card")
	})
	task(3, func(c *counter) { // and another one
		c.focused("[name='f.Name']")
		c.write("[name='f.Name']", "Pay by cash")
		c.enter()
		shows("Pay by cash")
	})
	b.open("/alds/ui/project/" + project)
	task(6, func(c *counter) { // three stories, one after another
		for _, name := range []string{"Gift wrap", "Search by colour", "Pay on account"} {
			c.write("#add [name=name]", name)
			c.enter()
			shows(name)
		}
	})
	task(8, func(c *counter) { // an epic and two stories below it
		c.click("header summary:not(.bare)")
		c.follow("header a[href*='new/Epic']")
		c.write("#f-Name", "Checkout")
		c.enter()
		for _, name := range []string{"Address", "Summary"} {
			c.write("#parts [name=line]", name)
			c.enter()
			c.focused("#parts [name=line]")
			shows(name)
		}
	})
	story := s.send(object{"AssetType": "Story", "Name": "Refund", "Scope": project}, object{"AssetType": "Member", "Name": "Bo", "Nickname": "Bo", "Username": "bo", "DefaultRole": "Role:5"})[0]
	b.open(assetPage(story))
	task(10, func(c *counter) { // three tasks with owners and hours
		for _, line := range []string{"Choose a provider @admin 4h", "Send the receipt @admin 2.5h", "Ask the lawyer 1h @admin @bo"} {
			c.write("#parts [name=line]", line)
			c.enter()
		}
		shows("Ask the lawyer")
	})
	var found [][]struct {
		Name, ToDo string
		Owners     []string `json:"Owners.Username"`
	}
	s.post("/query.v1", object{"from": "Task", "where": object{"Parent": cut(story)}, "select": []string{"Name", "ToDo", "Owners.Username"}, "sort": "ID"}, &found)
	if len(found) != 1 || len(found[0]) != 3 || found[0][1].Name != "Send the receipt" || found[0][1].ToDo != "2.5" || strings.Join(found[0][1].Owners, "") != "admin" || len(found[0][2].Owners) != 2 {
		t.Errorf("the tasks are %v", found)
	}
	b.expect("400")
	b.write("#parts [name=line]", "Nobody does it @nobody")
	b.loads(func() { b.press(kb.Enter) })
	shows("No member, or more than one, has the name nobody")
	if line := eval[string](b, `document.querySelector("#parts [name=line]").value`); line != "Nobody does it @nobody" {
		t.Errorf("the line is %q", line)
	}
}

// TestNewForms checks the forms of new assets: a refusal keeps what was typed, and the form asks only for what fits.
func TestNewForms(t *testing.T) {
	t.Parallel()
	browser(t)
	s := serve(t, "sqlite")
	made := s.send(
		object{"@beat": object{"AssetType": "Schedule", "Name": "Beat"}},
		object{"@shop": object{"AssetType": "Scope", "Name": "Shop", "Parent": "Scope:0", "BeginDate": "2026-01-01", "Schedule": "@beat"}},
		object{"AssetType": "Timebox", "Name": "Own sprint", "Schedule": "@beat", "State": "State:100", "BeginDate": "2026-01-01", "EndDate": "2026-01-15"},
		object{"@other": object{"AssetType": "Schedule", "Name": "Other"}},
		object{"AssetType": "Timebox", "Name": "Other sprint", "Schedule": "@other", "State": "State:100", "BeginDate": "2026-01-01", "EndDate": "2026-01-15"},
		object{"AssetType": "Epic", "Name": "Above", "Scope": "Scope:0"},
		object{"@bank": object{"AssetType": "Scope", "Name": "Bank", "Parent": "Scope:0", "BeginDate": "2026-01-01"}},
		object{"AssetType": "Epic", "Name": "Elsewhere", "Scope": "@bank"},
	)
	b := newTab(t, s.origin)
	b.expect("400")
	signIn(b, "admin", password)
	b.open("/alds/ui/new/Story?scope=" + cut(made[1]))
	offered := eval[string](b, `[...document.querySelectorAll("#f-Timebox option, #f-Super option")].map(o => o.text).join(", ")`)
	if offered != ", Own sprint, , Above" {
		t.Errorf("the form offers %s", offered)
	}
	b.fill("#f-Name", "Pay by card")
	b.write("#f-Description", "With a receipt")
	eval[bool](b, `(e => { e.type = "text"; e.value = "many"; return true })(document.querySelector("#f-Estimate"))`)
	b.submit("form.new")
	if text := eval[string](b, `document.querySelector("#f-Name").value + document.querySelector("#f-Description").value`); text != "Pay by cardWith a receipt" || !b.exists(".refused") {
		t.Errorf("after a refusal the form has %q: %s", text, b.text("main"))
	}
	b.fill("#f-Estimate", "5")
	b.follow("[name=another]")
	if !strings.Contains(b.text(".notice, [role=status]"), "Pay by card") || eval[string](b, `document.querySelector("#f-Scope").selectedOptions[0].text`) != "Shop" {
		t.Errorf("the next form says %s", b.text("main"))
	}
	for path, status := range map[string]int{"/alds/ui/new/Nothing": 404, "/alds/ui/new/Role": 404} {
		b.expect("404")
		if got := b.open(path); got != status {
			t.Errorf("%s is answered with %d", path, got)
		}
	}
}

// TestTasksOfSearching finds items from any page, by number and by words, with the mouse and by keyboard.
func TestTasksOfSearching(t *testing.T) {
	t.Parallel()
	browser(t)
	s := serve(t, "sqlite")
	story := s.send(object{"AssetType": "Story", "Name": "Pay by card", "Scope": "Scope:0"}, object{"AssetType": "Story", "Name": "Pay later", "Scope": "Scope:0"},
		object{"AssetType": "Scope", "Name": "Shop", "Parent": "Scope:0", "BeginDate": "2026-01-01"})[0]
	b := newTab(t, s.origin)
	signIn(b, "admin", password)
	for name, find := range map[string]func(c *counter){
		"by number": func(c *counter) { c.write("#search input", "1001"); c.enter() },
		"by words": func(c *counter) {
			c.write("#search input", "card pay")
			c.waitFor("#search-found a")
			c.follow("#search-found a")
		},
		"by keys": func(c *counter) {
			c.press("/")
			c.focused("#search input")
			eval[string](b, `document.querySelector("#search input").value = ""`) // the key of the test also types its character
			c.write("#search input", "S-01001")
			c.enter()
		},
		"by palette": func(c *counter) {
			c.press("k", chromedp.ModifierCtrl)
			c.write("#palette input", "pay card")
			c.waitFor("#palette a[href*=asset]")
			c.follow("#palette a[href*=asset]")
		},
	} {
		t.Run(name, func(t *testing.T) {
			b.open("/alds/ui/profile")
			c := &counter{tab: b}
			find(c)
			if !strings.Contains(strings.ToUpper(b.path()), strings.ToUpper(strings.Replace(cut(story), ":", "%3A", 1))) {
				t.Errorf("the search leads to %s", b.path())
			}
			c.within(3)
		})
	}
	b.open("/alds/ui/profile")
	b.press("?")
	b.waitFor("#keys-help[open]")
	accessible(t, b)
	b.press(kb.Escape)
	b.press("g")
	b.loads(func() { b.press("h") })
	if b.path() != "/alds/ui/" {
		t.Errorf("g h leads to %s", b.path())
	}
	b.withoutScript()
	b.open("/alds/ui/search?q=pay")
	if text := b.text("#hits"); !strings.Contains(text, "Pay by card") || !strings.Contains(text, "Pay later") {
		t.Errorf("without script the search shows %s", text)
	}
}

// TestAnswerOnMyWork answers a comment that calls the reader, on the first page.
func TestAnswerOnMyWork(t *testing.T) {
	t.Parallel()
	browser(t)
	s := serve(t, "sqlite")
	story := s.send(object{"AssetType": "Story", "Name": "Pay by card", "Scope": "Scope:0"})[0]
	anna := s.send(object{"AssetType": "Member", "Name": "Anna", "Nickname": "Anna", "Username": "anna", "Password": password, "DefaultRole": "Role:5", "IsCollaborator": false})[0]
	s.send(object{"from": "Scope:0", "execute": object{"op": "AssignMemberWithRole", "args": object{"Member": cut(anna), "Role": "Role:5"}}})
	var asked [][]struct {
		Oid string `json:"_oid"`
	}
	s.send(object{"AssetType": "Expression", "Content": "Who knows cards?", "Mentions": cut(story), "BelongsTo": object{"AssetType": "Conversation"}})
	s.post("/query.v1", object{"from": "Expression"}, &asked)
	s.as("anna").send(object{"AssetType": "Expression", "Content": "Does a card expire?", "Mentions": cut(story), "InReplyTo": asked[0][0].Oid})
	b := newTab(t, s.origin)
	signIn(b, "admin", password)
	b.open("/alds/ui/?x")
	c := &counter{tab: b}
	c.click(".comment textarea")
	c.write(".comment textarea", "After three years.")
	c.follow(".comment [type=submit]")
	c.within(3)
	if text := b.text("main"); !strings.Contains(text, "Your comment is there") || b.exists(".comment") {
		t.Errorf("the first page shows %s", text)
	}
	b.open(assetPage(story))
	if text := b.text(".comment:last-of-type"); !strings.Contains(text, "to Anna") || !strings.Contains(text, "After three years.") {
		t.Errorf("the answer is %s", text)
	}
	var found [][]any
	s.as("anna").post("/query.v1", object{"from": "Expression", "where": object{"InReplyTo.Author": cut(anna)}, "select": []string{"Content"}}, &found)
	if len(found) != 1 || len(found[0]) != 1 {
		t.Errorf("Anna reads %v", found)
	}
}
