package pagetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// counter performs a task in a tab and counts clicks and keys. A text that is typed counts as one.
type counter struct {
	*tab
	n int
}

func (c *counter) click(selector string) {
	c.t.Helper()
	c.n++
	c.tab.click(selector)
}

// shiftClick clicks with the Shift key.
func (c *counter) shiftClick(selector string) {
	c.t.Helper()
	c.n++
	type point struct{ X, Y float64 }
	at := eval[point](c.tab, `(() => { const e = document.querySelector(`+quote(selector)+`); e.scrollIntoView({block: 'center'});
		const r = e.getBoundingClientRect(); return {X: r.x + r.width / 2, Y: r.y + r.height / 2}; })()`)
	for _, kind := range []input.DispatchMouseEventType{input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased} {
		command(c.tab, input.DispatchMouseEvent, input.DispatchMouseEventParams{
			Type: kind, X: at.X, Y: at.Y, Button: input.MouseButtonLeft, ClickCount: 1, Modifiers: int64(chromedp.ModifierShift),
		})
	}
}

func (c *counter) press(keys string, modifiers ...chromedp.Modifier) {
	c.t.Helper()
	c.n++
	c.tab.press(keys, modifiers...)
}

// choose clicks on an option of a select whose list is open. The browser draws the list outside the page,
// so the test sets the value in its place.
func (c *counter) choose(selector, option string) {
	c.t.Helper()
	c.n++
	eval[bool](c.tab, `(() => { const s = document.querySelector(`+quote(selector)+`); s.selectedIndex = [...s.options].findIndex(o => o.text === `+quote(option)+`);
		return s.dispatchEvent(new Event('change', {bubbles: true})); })()`)
}

// said waits until the toast or the notice of the page contains a text.
func (c *counter) said(part string) {
	c.t.Helper()
	send(c.tab, "wait for the message "+part, chromedp.Poll[any](`[...document.querySelectorAll('.toast, .notice')].some(e => e.textContent.includes(`+quote(part)+`))`))
}

// within fails the test if the task has taken more than its budget.
func (c *counter) within(budget int) {
	c.t.Helper()
	c.t.Logf("%d of %d clicks and keys", c.n, budget)
	if c.n > budget {
		c.t.Errorf("it takes %d clicks and keys, the budget is %d", c.n, budget)
	}
}

// row is the selector of a row of the backlog, counted from 1.
func row(n int) string { return fmt.Sprintf("#items tbody tr:nth-child(%d)", n) }

// cellOf is the selector of a cell of a field in a row. The columns are those of the table with check boxes.
func cellOf(n int, field string) string {
	return fmt.Sprintf("%s td:nth-child(%d)", row(n), map[string]int{"name": 3, "status": 5, "owner": 6, "estimate": 7, "sprint": 9, "priority": 10}[field])
}

// serveTasks starts a service with a project that has twelve stories and a sprint, and signs in.
func serveTasks(t *testing.T) (s *site, b *tab, project string) {
	t.Helper()
	browser(t)
	s = serve(t, "sqlite")
	var items []object
	for i := range 12 {
		items = append(items, object{"AssetType": "Story", "Name": fmt.Sprintf("Story%d", i+1), "Estimate": 2})
	}
	made := s.send(
		object{"@s": object{"AssetType": "Schedule", "Name": "Sprints"}},
		object{"@p": object{"AssetType": "Scope", "Name": "Shop", "Parent": "Scope:0", "BeginDate": "2026-01-01", "Schedule": "@s", "Workitems": items}},
		object{"AssetType": "Timebox", "Name": "May", "Schedule": "@s", "State": "State:101", "BeginDate": "2026-05-01", "EndDate": "2026-05-15"},
	)
	b = newTab(t, s.origin)
	signIn(b, "admin", password)
	return s, b, cut(made[1])
}

// values returns an attribute of the items of a project in the order of their ranks. The attribute has one value.
func (s *site) values(project, attribute string) []string {
	s.t.Helper()
	var rows [][]map[string]any
	s.post("/query.v1", object{"from": "PrimaryWorkitem", "where": object{"Scope": project}, "filter": []string{"AssetState!='Dead'"}, "select": []string{attribute}, "sort": []string{"Order"}}, &rows)
	list := make([]string, len(rows[0]))
	for i, r := range rows[0] {
		switch v := r[attribute].(type) {
		case nil:
		case []any:
			list[i] = strings.Trim(fmt.Sprint(v...), "[]")
		default:
			list[i] = fmt.Sprint(v)
		}
	}
	return list
}

// many returns how many of the values are equal to one.
func many(list []string, value string) (n int) {
	for _, v := range list {
		if v == value {
			n++
		}
	}
	return n
}

// TestTasksOfTheBacklog performs what a team does in a backlog, with the mouse and with keys, and counts.
// Each task is taken back with one click or key.
func TestTasksOfTheBacklog(t *testing.T) {
	t.Parallel()
	s, member, project := serveTasks(t)
	first := func(attribute string) string { return s.values(project, attribute)[0] }
	for _, c := range []struct {
		task   string
		budget int
		do     func(c *counter)
		says   string
		done   func() bool
	}{
		{"11 status", 2, func(c *counter) { c.click(cellOf(1, "status")); c.choose(".items select", "In Progress") }, "Status is In Progress", func() bool { return first("Status.Name") == "In Progress" }},
		{"11 status by keys", 3, func(c *counter) { c.press("j"); c.press("s"); c.press("2") }, "1 item changed", func() bool { return first("Status.Name") != "" }},
		{"12 owner", 2, func(c *counter) { c.click(cellOf(1, "owner")); c.choose(".items select", "Me") }, "Me", func() bool { return first("Owners.Name") == "Administrator" }},
		{"12 owner by keys", 2, func(c *counter) { c.press("j"); c.press("i") }, "1 item changed", func() bool { return first("Owners.Name") == "Administrator" }},
		{"13 estimate", 3, func(c *counter) { c.click(cellOf(1, "estimate")); c.press("5"); c.press(kb.Enter) }, "Estimate is 5", func() bool { return first("Estimate") == "5" }},
		{"13 estimate by keys", 3, func(c *counter) { c.press("j"); c.press("8"); c.press(kb.Enter) }, "Estimate is 8", func() bool { return first("Estimate") == "8" }},
		{"16 ten items into the sprint", 4, func(c *counter) {
			c.click(row(1) + " input")
			c.shiftClick(row(10) + " input")
			c.click("#tools [data-f=sprint] summary")
			c.click("#tools [data-f=sprint] button")
		}, "10 items changed", func() bool { return many(s.values(project, "Timebox.Name"), "May") == 10 }},
		{"16 ten items by keys", 13, func(c *counter) {
			c.press("j")
			for range 9 {
				c.press(kb.ArrowDown, chromedp.ModifierShift)
			}
			c.press("S")
			c.press("1")
		}, "10 items changed", func() bool { return many(s.values(project, "Timebox.Name"), "May") == 10 }},
		{"17 close five", 8, func(c *counter) {
			c.click(row(1) + " input")
			c.shiftClick(row(5) + " input")
			c.click("#tools [value=close]")
		}, "5 items closed", func() bool { return many(s.values(project, "AssetState"), "Closed") == 5 }},
		{"17 close five by keys", 8, func(c *counter) {
			c.press("j")
			for range 4 {
				c.press(kb.ArrowDown, chromedp.ModifierShift)
			}
			c.press("c")
		}, "5 items closed", func() bool { return many(s.values(project, "AssetState"), "Closed") == 5 }},
		{"19 rank first", 2, func(c *counter) { c.click(row(4) + " input"); c.click("#tools [value=top]") }, "moved to the top", func() bool { return first("Name") == "Story4" }},
		{"38 delete by mistake", 3, func(c *counter) { c.click(row(1) + " input"); c.click("#tools [value=delete]") }, "1 item deleted", func() bool { return len(s.values(project, "Name")) == 11 }},
	} {
		t.Run(c.task, func(t *testing.T) {
			b := &counter{tab: newTab(t, s.origin)}
			signInAs(b.tab, member)
			b.open("/alds/ui/project/" + project)
			was := s.state(project)
			c.do(b)
			b.said(c.says)
			b.within(c.budget)
			if !c.done() {
				t.Errorf("it is not done: %s", s.state(project))
			}
			b.n = 0
			b.loads(func() {
				if strings.Contains(c.task, "keys") {
					b.press("z", chromedp.ModifierCtrl)
				} else {
					b.click(".undo button")
				}
			})
			b.said("Undone.")
			b.within(1)
			if now := s.state(project); now != was {
				t.Errorf("undone, it is\n%s, it was\n%s", now, was)
			}
		})
	}
}

// state returns what the tasks change, as a text.
func (s *site) state(project string) string {
	s.t.Helper()
	var all []string
	for _, attribute := range []string{"Name", "Status.Name", "Owners.Name", "Estimate", "Timebox.Name", "AssetState"} {
		all = append(all, attribute+": "+strings.Join(s.values(project, attribute), ","))
	}
	return strings.Join(all, "\n")
}

// TestBacklogCells changes cells in place. Escape and a refused value leave the cell as it was. If somebody
// else has changed the cell since, both values are shown and nothing is overwritten.
func TestBacklogCells(t *testing.T) {
	t.Parallel()
	s, tab, project := serveTasks(t)
	b := &counter{tab: tab}
	b.open("/alds/ui/project/" + project)
	b.expect("40")
	estimate := func() string { return b.text(cellOf(1, "estimate")) }
	b.click(cellOf(1, "estimate"))
	b.press("9")
	b.press(kb.Escape)
	if got := estimate(); got != "2" {
		t.Errorf("after Escape it is %q", got)
	}
	b.click(cellOf(1, "estimate"))
	b.press("-")
	b.press("3")
	b.press(kb.Enter)
	b.said("not below 0")
	if got := estimate(); got != "2" {
		t.Errorf("after a refusal it is %q", got)
	}
	s.send(object{"from": "Story", "where": object{"Name": "Story1"}, "update": object{"Priority": "High"}})
	b.click(cellOf(1, "estimate"))
	b.press("3")
	b.press(kb.Enter)
	b.said("Estimate is 3")
	s.send(object{"from": "Story", "where": object{"Name": "Story1"}, "update": object{"Estimate": 13}})
	b.click(cellOf(1, "estimate"))
	b.press("5")
	b.press(kb.Enter)
	b.said("changed it to “13”. It was not changed to “5”")
	if got := estimate(); got != "13" || s.values(project, "Estimate")[0] != "13" || s.values(project, "Priority.Name")[0] != "High" {
		t.Errorf("after a conflict it is %q: %s", got, s.state(project))
	}
}

// TestChangeWithoutScript changes several items with the forms of the page alone, and takes that back.
func TestChangeWithoutScript(t *testing.T) {
	t.Parallel()
	s, tab, project := serveTasks(t)
	b := &counter{tab: tab}
	b.withoutScript()
	b.open("/alds/ui/project/" + project + "?sort=name")
	b.click(row(1) + " input")
	b.click(row(2) + " input")
	b.click("#tools [data-key=e] summary")
	b.fill("#tools [name=estimate]", "8")
	b.loads(func() { b.press(kb.Enter) })
	b.said("2 items changed.")
	if got := many(s.values(project, "Estimate"), "8"); got != 2 || !strings.Contains(b.path(), "sort=name") {
		t.Errorf("at %s %d items have the estimate", b.path(), got)
	}
	b.follow(".undo button")
	b.said("Undone.")
	if got := many(s.values(project, "Estimate"), "8"); got != 0 || !strings.Contains(b.path(), "sort=name") {
		t.Errorf("undone, at %s %d items have the estimate", b.path(), got)
	}
	if button := b.text(".undo button"); button != "Redo" {
		t.Errorf("the button is %q", button)
	}
	b.expect("400")
	b.click("#tools [data-f=status] summary")
	b.follow("#tools [data-f=status] button")
	if said := b.text("[role=alert]"); !strings.Contains(said, "Select the items") {
		t.Errorf("without a selection: %q", said)
	}
}

// TestUndoInConflict leads to the page of the undo if something has changed since.
func TestUndoInConflict(t *testing.T) {
	t.Parallel()
	s, tab, project := serveTasks(t)
	b := &counter{tab: tab}
	b.open("/alds/ui/project/" + project)
	b.click(cellOf(1, "estimate"))
	b.press("5")
	b.press(kb.Enter)
	b.said("Estimate is 5")
	b.size(1280, 300)
	eval[any](b.tab, "scrollTo(0, 200)")
	b.loads(func() { b.press("z", chromedp.ModifierCtrl) })
	if y := eval[int](b.tab, "scrollY"); y != 200 || !b.exists(".notice.toast .undo") {
		t.Errorf("after the undo the page is at %d, and says what it did out of sight", y)
	}
	b.follow(".undo button")
	s.send(object{"from": "Story", "where": object{"Name": "Story1"}, "update": object{"Estimate": 13}})
	b.follow(".undo button")
	if said := b.text("main"); !strings.Contains(b.path(), "/ui/undo?request=") || !strings.Contains(said, "changed since") {
		t.Errorf("at %s: %s", b.path(), said)
	}
	if got := s.values(project, "Estimate"); !slices.Contains(got, "13") {
		t.Errorf("the estimates are %v", got)
	}
}

// TestUndoOfAForm takes back what a form of a page has done, on the page to which it leads: an edit, an
// operation and a new item.
func TestUndoOfAForm(t *testing.T) {
	t.Parallel()
	s, tab, project := serveTasks(t)
	b := &counter{tab: tab}
	story := s.find(object{"from": "Story", "where": object{"Name": "Story1"}})
	b.open(assetPage(story) + "&tab=edit")
	b.fill("[name='f.Name']", "Renamed")
	b.submit("main form[action*='/ui/asset/']")
	b.said("Saved.")
	b.loads(func() { b.press("z", chromedp.ModifierCtrl) })
	b.said("Undone.")
	if got := s.values(project, "Name")[0]; got != "Story1" || !strings.Contains(b.path(), "/assetdetail.v1?") {
		t.Errorf("at %s the name is %q", b.path(), got)
	}
	b.follow(".undo button")
	b.said("Undone.")
	if got := s.values(project, "Name")[0]; got != "Renamed" {
		t.Errorf("done again, the name is %q", got)
	}
	b.open("/alds/ui/project/" + project + "?sort=name")
	b.fill("#add [name=name]", "By mistake")
	b.submit("#add")
	b.said("By mistake is added")
	b.follow(".undo button")
	b.said("Undone.")
	if got := s.values(project, "Name"); slices.Contains(got, "By mistake") || !strings.Contains(b.path(), "sort=name") {
		t.Errorf("at %s there are %v", b.path(), got)
	}
	b.open(strings.Replace(b.path(), "done=undone", "done=saved", 1) + "x")
	if b.exists(".undo") {
		t.Error("an undo without a seal is offered")
	}
}

// TestChangesThatAreRefused sends forms for items of another project and forms of a member who may only read.
// Nothing changes. A sprint of another schedule is refused, too.
func TestChangesThatAreRefused(t *testing.T) {
	t.Parallel()
	s, admin, project := serveTasks(t)
	made := s.send(
		object{"@s": object{"AssetType": "Schedule", "Name": "Others"}},
		object{"@p": object{"AssetType": "Scope", "Name": "Other", "Parent": "Scope:0", "BeginDate": "2026-01-01", "Schedule": "@s"}},
		object{"AssetType": "Story", "Name": "Elsewhere", "Scope": "@p"},
		object{"AssetType": "Timebox", "Name": "June", "Schedule": "@s", "State": "State:101", "BeginDate": "2026-06-01", "EndDate": "2026-06-15"},
		object{"@eve": object{"AssetType": "Member", "Name": "Eve", "Nickname": "Eve", "Username": "eve", "Password": password, "DefaultRole": "Role:8"}},
		object{"from": project, "execute": object{"op": "AssignMemberWithRole", "args": object{"Member": "@eve", "Role": "Role:8"}}},
	)
	eve := newTab(t, s.origin)
	signIn(eve, "eve", password)
	here, elsewhere, june := s.find(object{"from": "Story", "where": object{"Name": "Story1"}}), cut(made[2]), cut(made[3])
	for _, c := range []struct {
		why          string
		by           *tab
		form, fields string
		status       int
	}{
		{"an item of another project", admin, "change", "item=" + elsewhere + "&set=estimate%3D9", 404},
		{"a cell of another project", admin, "cell", "item=" + elsewhere + "&field=estimate&value=9&moment=1", 404},
		{"a sprint of another schedule", admin, "change", "item=" + here + "&set=sprint%3D" + june, 400},
		{"no item", admin, "change", "set=delete", 400},
		{"what there is not", admin, "change", "item=" + here + "&set=Purge", 400},
		{"a cell without moment", admin, "cell", "item=" + here + "&field=estimate&value=9", 400},
		{"a reader's change", eve, "change", "item=" + here + "&set=delete", 400},
		{"a reader's cell", eve, "cell", "item=" + here + "&field=name&value=x&moment=1&shown=Story1", 400},
	} {
		c.by.expect("40")
		c.by.open("/alds/ui/project/" + project)
		was := s.state(project)
		got := eval[int](c.by, `fetch(`+quote("/alds/ui/project/"+project+"/"+c.form)+`, {method: 'POST', headers: {'HX-Request': 'true', 'Content-Type': 'application/x-www-form-urlencoded'},
			body: `+quote(c.fields)+` + '&csrf=' + encodeURIComponent(document.querySelector('[name=csrf]').value)}).then(a => a.status)`)
		if now := s.state(project); got != c.status || now != was {
			t.Errorf("%s: %d, want %d; it is %s", c.why, got, c.status, now)
		}
	}
	if at := s.find(object{"from": "Story", "where": object{"Name": "Elsewhere", "Estimate": 9}}); at != "" {
		t.Error("a form of a project has changed another project")
	}
}
