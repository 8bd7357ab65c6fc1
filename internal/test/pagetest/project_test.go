package pagetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// numbersOf is a script that returns the Numbers of the items on the page, from top to bottom.
const numbersOf = `[...document.querySelectorAll('.items tbody th a')].map(a => a.textContent)`

// backlogOf creates a project with three stories and a defect, and signs in. It returns the project and the
// Numbers of its items in the order of their ranks.
func backlogOf(t *testing.T, script bool) (s *site, b *tab, project string, numbers []string) {
	s = serve(t, "sqlite")
	project = cut(s.send(object{"AssetType": "Scope", "Name": "Shop", "Parent": "Scope:0", "BeginDate": "2026-01-01", "Workitems": []object{
		{"AssetType": "Story", "Name": "One"}, {"AssetType": "Story", "Name": "Two"}, {"AssetType": "Defect", "Name": "Three"}, {"AssetType": "Story", "Name": "Four"},
	}})[0])
	b = newTab(t, s.origin)
	if !script {
		b.withoutScript()
	}
	signIn(b, "admin", password)
	b.open("/alds/ui/project/" + project)
	return s, b, project, eval[[]string](b, numbersOf)
}

// order fails the test unless the items of the project have this order of names in the database.
func (s *site) order(project, want string) {
	s.t.Helper()
	var rows [][]struct{ Name string }
	s.post("/query.v1", object{"from": "PrimaryWorkitem", "where": object{"Scope": project}, "select": []string{"Name"}, "sort": []string{"Order"}}, &rows)
	names := make([]string, len(rows[0]))
	for i, r := range rows[0] {
		names[i] = r.Name
	}
	if got := strings.Join(names, " "); got != want {
		s.t.Errorf("the order is %s, want %s", got, want)
	}
}

// told waits until the text for screen readers contains part. Scripts write to this text what they have
// done.
func (b *tab) told(part string) {
	b.t.Helper()
	eval[bool](b, `new Promise(done => { const look = () => document.getElementById('told').textContent.includes(`+quote(part)+`) ? done(true) : setTimeout(look, 20); look(); })`)
}

// TestRankByKeyboard moves a row with Alt and an arrow key, and then by picking it up with a key. Escape
// must put the row back.
func TestRankByKeyboard(t *testing.T) {
	t.Parallel()
	s, b, project, n := backlogOf(t, true)
	b.click(".items tbody tr:nth-child(1) input")
	b.press(kb.ArrowDown, chromedp.ModifierAlt)
	b.told(n[0] + " is after " + n[1])
	s.order(project, "Two One Three Four")
	b.press(kb.ArrowUp, chromedp.ModifierAlt)
	b.told(n[0] + " is as the first")
	s.order(project, "One Two Three Four")
	b.press(kb.ArrowUp, chromedp.ModifierAlt)
	b.told("This is the first row.")
	b.press("m")
	b.told(n[0] + " is picked up")
	b.press(kb.ArrowDown)
	b.press(kb.ArrowDown)
	b.told(n[0] + " after " + n[2])
	s.order(project, "One Two Three Four")
	b.press("m")
	b.told(n[0] + " is after " + n[2])
	s.order(project, "Two Three One Four")
	b.press("m")
	b.press(kb.ArrowDown)
	b.press(kb.Escape)
	b.told(n[0] + " is back")
	if got := strings.Join(eval[[]string](b, numbersOf), " "); got != strings.Join([]string{n[1], n[2], n[0], n[3]}, " ") {
		t.Errorf("the rows stand as %s", got)
	}
	b.open("/alds/ui/project/" + project)
	s.order(project, "Two Three One Four")
}

// drag drags with the mouse from the right end of one element to another element. part says at which height
// of the second element it ends: 0 is the top, and 1 is the bottom.
func (b *tab) drag(from, to string, part float64) {
	b.t.Helper()
	type point struct{ X, Y float64 }
	place := func(selector string, part float64) point {
		return eval[point](b, `(() => { const r = document.querySelector(`+quote(selector)+`).getBoundingClientRect();
			return {X: r.right - 12, Y: r.y + r.height * `+string(mustJSON(part))+`}; })()`)
	}
	mouse := func(kind input.DispatchMouseEventType, at point, buttons int64) {
		command(b, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: kind, X: at.X, Y: at.Y, Button: input.MouseButtonLeft, Buttons: buttons, ClickCount: 1})
	}
	over := func(kind input.DispatchDragEventType, at point) {
		command(b, input.DispatchDragEvent, input.DispatchDragEventParams{Type: kind, X: at.X, Y: at.Y, Data: &input.DragData{
			Items: []*input.DragDataItem{{MimeType: "text/plain", Data: "dragged"}}, DragOperationsMask: moves,
		}})
	}
	// A headless browser does not send drag events on its own.
	command(b, input.SetInterceptDrags, input.SetInterceptDragsParams{Enabled: true})
	begin, end := place(from, .5), place(to, part)
	mouse(input.DispatchMouseEventTypeMousePressed, begin, 1)
	mouse(input.DispatchMouseEventTypeMouseMoved, point{begin.X + 3, begin.Y + 5}, 1)
	mouse(input.DispatchMouseEventTypeMouseMoved, point{begin.X + 5, begin.Y + 9}, 1)
	over(input.DispatchDragEventTypeDragEnter, end)
	over(input.DispatchDragEventTypeDragOver, end)
	over(input.DispatchDragEventTypeDragOver, end) // browsers repeat this event; the element there may be a new one
	over(input.DispatchDragEventTypeDrop, end)
	mouse(input.DispatchMouseEventTypeMouseReleased, end, 0)
}

// moves is a bit mask of the allowed drag operations: only to move.
const moves = 16

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// TestRankByDrag checks that a row that is dragged gets the place where it is dropped.
func TestRankByDrag(t *testing.T) {
	t.Parallel()
	s, b, project, n := backlogOf(t, true)
	b.drag(".items tbody tr:nth-child(1) td.grip", ".items tbody tr:nth-child(3) td.grip", .9)
	b.told(n[0] + " is after " + n[2])
	s.order(project, "Two Three One Four")
}

// TestBacklogWithoutScript checks that the forms of the backlog filter, sort, rank and add items without
// script.
func TestBacklogWithoutScript(t *testing.T) {
	t.Parallel()
	s, b, project, n := backlogOf(t, false)
	b.click(".items tbody tr:nth-child(4) input")
	b.click("#rank summary")
	b.fill("#rank [name=target]", n[0])
	if status := b.follow("#rank button"); status != http.StatusOK || !strings.Contains(b.text("[role=status]"), "new place") {
		t.Errorf("%d %s", status, b.text("main"))
	}
	s.order(project, "Four One Two Three")
	b.click(".items tbody tr:nth-child(4) input")
	b.click("#rank summary")
	b.fill("#rank [name=target]", "S-99999")
	b.expect("400")
	if status := b.follow("#rank button"); status != http.StatusBadRequest || !strings.Contains(b.text("[role=alert]"), "S-99999") {
		t.Errorf("no such number: %d %s", status, b.text("main"))
	}
	if kept := eval[string](b, `document.querySelector("#rank [name=target]").value + " " + document.querySelector(".items tbody tr:nth-child(4) input").checked`); kept != "S-99999 true" {
		t.Errorf("the refused form has %s", kept)
	}
	if status := b.follow("main thead a"); status != http.StatusOK || strings.Contains(b.path(), "/rank") {
		t.Errorf("after a refused form a head leads to %s, which answers %d", b.path(), status)
	}
	b.open("/alds/ui/project/" + project + "?sort=name")
	if b.exists("#rank") {
		t.Error("a table by name offers ranks")
	}
	b.fill("form[action$=add] [name=name]", scripts)
	b.submit("form[action$=add]")
	if made := b.text("[role=status]"); !strings.Contains(made, scripts) || !strings.Contains(b.path(), "sort=name") {
		t.Errorf("at %s: %s", b.path(), made)
	}
	b.fill("form[action$=add] [name=name]", " ")
	if status := b.submit("form[action$=add]"); status != http.StatusBadRequest || b.exists("[role=status]") || !b.exists("[role=alert]") {
		t.Errorf("a name of spaces: %d %s", status, b.text("main"))
	}
	b.fill("search [name=find]", "thre")
	b.submit("search form")
	if got := eval[[]string](b, numbersOf); len(got) != 1 || got[0] != n[2] {
		t.Errorf("the filter leaves %v", got)
	}
	for path, status := range map[string]int{
		"/alds/ui/project/Scope:999999": 404, "/alds/ui/project/Story:1": 404, "/alds/ui/project/" + project + "?sort=x": 400,
		"/alds/ui/project/" + project + "?page=0": 400, "/alds/ui/project/" + project + "/flow?from=yesterday": 400,
		"/alds/ui/project/" + project + "/sprint/Timebox:999999": 404,
	} {
		b.expect("40")
		if got := b.open(path); got != status {
			t.Errorf("%s is %d, want %d", path, got, status)
		}
	}
}

// TestBacklogFiltersWhileTyping checks that the table and the URL change while the user types in the
// filter.
func TestBacklogFiltersWhileTyping(t *testing.T) {
	t.Parallel()
	_, b, _, n := backlogOf(t, true)
	b.fill("search [name=find]", "two")
	listed := func(n int) {
		b.waitFor(fmt.Sprintf(".items tbody:not(:has(tr:nth-child(%d))) tr:nth-child(%d)", n+1, n))
	}
	send(b, "wait for the place of the filter", chromedp.Poll[any](`new URL(location).searchParams.get("find") == "two"`))
	listed(1)
	if got := eval[[]string](b, numbersOf); got[0] != n[1] {
		t.Errorf("at %s: %v", b.path(), got)
	}
	b.fill("form[action$=add] [name=name]", "Another of two")
	b.submit("form[action$=add]")
	if listed(2); !strings.Contains(b.path(), "find=two") {
		t.Errorf("an item is added, and the filter is that of %s: %v", b.path(), eval[[]string](b, numbersOf))
	}
}

// TestBoard moves cards on the board by dragging and, without script, with their forms.
func TestBoard(t *testing.T) {
	t.Parallel()
	s, b, project, _ := backlogOf(t, true)
	s.send(object{"from": "Story", "where": object{"Name": "One"}, "update": object{"Estimate": 0.1}}, object{"from": "Story", "where": object{"Name": "Two"}, "update": object{"Estimate": 0.2, "Status": "In Progress"}})
	b.open("/alds/ui/project/" + project + "/board")
	b.drag("[data-status=''] article:nth-of-type(1)", "[data-status='StoryStatus:134'] h2", .5)
	b.told("In Progress")
	heads := `[...document.querySelectorAll(".board h2 small")].map(h => h.textContent).join(", ")`
	moved := eval[string](b, heads)
	if b.open(b.path()); !strings.Contains(moved, "estimated") || moved != eval[string](b, heads) {
		t.Errorf("dragged, the heads are %s; loaded again, %s", moved, eval[string](b, heads))
	}
	status := func() string {
		var rows [][]map[string]string
		s.post("/query.v1", object{"from": "Story", "where": object{"Name": "One"}, "select": []string{"Status.Name"}}, &rows)
		return rows[0][0]["Status.Name"]
	}
	if got := status(); got != "In Progress" {
		t.Errorf("dragged, its status is %q", got)
	}
	plain := newTab(t, s.origin)
	plain.withoutScript()
	signIn(plain, "admin", password)
	plain.open("/alds/ui/project/" + project + "/board?type=Story")
	plain.click("[data-status='StoryStatus:134'] article summary")
	plain.click("[data-status='StoryStatus:134'] article select")
	plain.press("N") // chooses "No status"
	plain.press(kb.Enter)
	plain.follow("[data-status='StoryStatus:134'] article button")
	if got := status(); got != "" || !strings.Contains(plain.path(), "type=Story") {
		t.Errorf("at %s its status is %q", plain.path(), got)
	}
}

// sprints is a service whose project has a current sprint and other sprints.
type sprints struct {
	*site
	project, now, endless string // paths of the pages of the project and of two sprints
}

// serveSprints starts a service with a project that has sprints. Items of the project have tasks and tests.
func serveSprints(t *testing.T) (s sprints) {
	at := func(days int) string { return time.Now().AddDate(0, 0, days).Format(time.DateOnly) }
	sprint := func(name, state string, begin, end int) object {
		return object{"AssetType": "Timebox", "Name": name, "Schedule": "@s", "State": state, "BeginDate": at(begin), "EndDate": at(end)}
	}
	s.site = serve(t, "sqlite")
	made := s.send(
		object{"@s": object{"AssetType": "Schedule", "Name": "Sprints"}},
		object{"@p": object{"AssetType": "Scope", "Name": "Shop", "Parent": "Scope:0", "BeginDate": "2026-01-01", "Schedule": "@s"}},
		object{"@1": sprint("Now", "State:101", -3, 11)},
		object{"@2": sprint("Endless", "State:101", -1, 999)},
		object{"@3": sprint("Later", "State:100", 11, 25)},
		object{"@4": sprint("Past", "State:102", -30, -3)},
		object{"@r": object{"AssetType": "RegressionPlan", "Name": "Plan", "Scope": "@p"}},
		object{"@q": object{"AssetType": "RegressionSuite", "Name": "Suite", "RegressionPlan": "@r"}},
		object{"AssetType": "Story", "Name": "One", "Scope": "@p", "Timebox": "@1", "Estimate": 0.1, "ToDo": 1, "Children": []object{
			{"AssetType": "Task", "Name": "A task", "ToDo": 0.1}, {"AssetType": "Test", "Name": "A test", "ToDo": 0.2},
		}},
		object{"AssetType": "Defect", "Name": "Two", "Scope": "@p", "Timebox": "@1", "Estimate": 0.2, "Children": []object{{"AssetType": "Task", "Name": "A task", "ToDo": 4}}},
		object{"AssetType": "Story", "Name": "Three", "Scope": "@p"},
		object{"AssetType": "TestSet", "Name": "Four", "Scope": "@p", "RegressionSuite": "@q", "ToDo": 2},
	)
	s.project = "/alds/ui/project/" + cut(made[1])
	s.now, s.endless = s.project+"/sprint/"+cut(made[2]), s.project+"/sprint/"+cut(made[3])
	return s
}

// Scripts that return the sums and the column "To do" of a page.
const (
	sumsOf = `[...document.querySelectorAll('.sums dd')].map(d => d.textContent).join(' ')`
	toDoOf = `(() => { const at = [...document.querySelectorAll('.items thead th')].findIndex(h => h.textContent === 'To do');
		return [...document.querySelectorAll('.items tbody tr')].map(r => r.children[at].textContent).join(' '); })()`
	toDoToday = `[...document.querySelector('#burndown table').rows].find(r => r.cells[0].textContent === new Date().toISOString().slice(0, 10)).cells[1].textContent`
)

// TestSprint checks that the page of a sprint shows its items at once, and loads the burndown later into a
// place of the same size. All parts of the page must show the same amount of work to do.
func TestSprint(t *testing.T) {
	t.Parallel()
	s := serveSprints(t)
	b := newTab(t, s.origin)
	signIn(b, "admin", password)
	project, _, _ := strings.Cut(s.now, "/sprint/")
	b.open(project + "/sprints")
	if status := b.follow("main table a"); status != http.StatusOK || !strings.Contains(b.path(), "/sprint/Timebox:") {
		t.Errorf("a sprint of the list leads to %s, which answers %d", b.path(), status)
	}
	for _, width := range widths {
		b.size(width, 900)
		b.open(s.now)
		b.waitFor("#burndown:not(.blank)")
		if sums, items, today := eval[string](b, sumsOf), eval[string](b, toDoOf), eval[string](b, toDoToday); sums != "2 0.3 0.3 5.3" || items != "1.3 4" || today != "5.3" {
			t.Errorf("the sums are %s, to do is %s, and today %s", sums, items, today)
		}
		if asked := eval[string](b, "document.querySelector('footer').textContent"); !strings.Contains(asked, `"asof": "All"`) {
			t.Errorf("the requests are %s", asked)
		}
		drawn := eval[struct{ Reach, Letters int }](b, `(() => { const seen = [...document.querySelectorAll('.chart')].filter(c => c.checkVisibility());
			return {Reach: Math.max(...seen.flatMap(c => [c, ...c.querySelectorAll('text')]).map(e => Math.ceil(e.getBoundingClientRect().right))),
				Letters: Math.min(...seen.map(c => Math.floor(parseFloat(getComputedStyle(c.querySelector('text')).fontSize) * c.getScreenCTM().a)))}; })()`)
		if drawn.Reach > int(width) || drawn.Letters < 10 {
			t.Errorf("on a screen of %d the drawings are %+v", width, drawn)
		}
		high := eval[struct{ Drawn, Kept int }](b, `(async () => { const drawn = document.getElementById('burndown'), height = drawn.offsetHeight;
			const kept = new DOMParser().parseFromString(await (await fetch(location.href)).text(), 'text/html').getElementById('burndown');
			kept.removeAttribute('hx-get'); drawn.replaceWith(kept);
			return {Drawn: height, Kept: kept.offsetHeight}; })()`)
		if high.Drawn != high.Kept || high.Kept < 300 {
			t.Errorf("on a screen of %d the burndown is %d high, and its place %d", width, high.Drawn, high.Kept)
		}
	}
	b.open(s.endless)
	b.waitFor("#burndown [role=alert]")
}

// TestSprintWithoutScript checks that without script the burndown is a separate page.
func TestSprintWithoutScript(t *testing.T) {
	t.Parallel()
	s := serveSprints(t)
	b := newTab(t, s.origin)
	b.withoutScript()
	signIn(b, "admin", password)
	b.open(s.now)
	if eval[bool](b, "document.getElementById('burndown').checkVisibility()") {
		t.Error("a place is kept for nothing")
	}
	b.follow("main a[href*='/burndown']")
	if sums, today := eval[string](b, sumsOf), eval[string](b, toDoToday); sums != "2 0.3 0.3 5.3" || today != "5.3" {
		t.Errorf("the sums are %s, and today %s is to do", sums, today)
	}
	b.follow("main p a[href$='" + s.now + "']")
	b.expect("400")
	if status := b.open(s.endless + "/burndown"); status != http.StatusBadRequest || !b.exists("[role=alert]") {
		t.Errorf("a sprint of years: %d", status)
	}
}

// TestBacklogTable checks the table of a backlog, its filter and its layout.
func TestBacklogTable(t *testing.T) {
	t.Parallel()
	s := serveSprints(t)
	b := newTab(t, s.origin)
	signIn(b, "admin", password)
	for query, want := range map[string]string{"": "1.3 4  2", "?sort=-todo": "4 2 1.3 ", "?sort=todo": " 1.3 2 4", "?type=TestSet": "2"} {
		b.open(s.project + query)
		if got := eval[string](b, toDoOf); got != want {
			t.Errorf("%s: to do is %q, want %q", query, got, want)
		}
	}
	b.open(s.project + "?page=99&type=Story")
	if said := b.text("#caption"); !strings.Contains(said, "page 99") {
		t.Errorf("beyond the last page: %s", said)
	}
	b.follow("#caption a")
	if got := eval[[]string](b, numbersOf); len(got) != 2 || !strings.Contains(b.path(), "type=Story") {
		t.Errorf("at %s: %v", b.path(), got)
	}
	const offered = `[...document.querySelectorAll('[name=sprint] option')].map(o => o.textContent).join(', ')`
	if got := eval[string](b, offered); got != "All, None, Endless, Later, Now, Past (closed)" {
		t.Errorf("the filter offers %s", got)
	}
	const apart = `[...document.querySelectorAll('.items thead th')].filter((h, i) => i &&
		getComputedStyle(h).textAlign !== getComputedStyle(document.querySelector('.items tbody tr').children[i]).textAlign).map(h => h.textContent)`
	if got := eval[[]string](b, apart); len(got) > 0 {
		t.Errorf("%v do not stand above their cells", got)
	}
	const room = `(() => { const f = document.querySelector('[name=owner]'), c = document.createElement('canvas').getContext('2d'), s = getComputedStyle(f);
		c.font = s.font; return f.clientWidth - parseFloat(s.paddingLeft) - parseFloat(s.paddingRight) - c.measureText(f.placeholder).width; })()`
	for _, width := range widths {
		if b.size(width, 900); eval[float64](b, room) < 0 {
			t.Errorf("on a screen of %d the placeholder of the owner is cut off", width)
		}
	}
}

// TestFormsOfAReader checks that a member who may only read a project sees no forms of it.
func TestFormsOfAReader(t *testing.T) {
	t.Parallel()
	s, _, project, _ := backlogOf(t, true)
	made := s.send(
		object{"AssetType": "Member", "Name": "Eve", "Nickname": "Eve", "Username": "eve", "Password": password, "DefaultRole": "Role:8"},
		object{"AssetType": "Member", "Name": "Tim", "Nickname": "Tim", "Username": "tim", "Password": password, "DefaultRole": "Role:4"},
	)
	s.send(
		object{"from": project, "execute": object{"op": "AssignMemberWithRole", "args": object{"Member": made[0], "Role": "Role:8"}}},
		object{"from": project, "execute": object{"op": "AssignMemberWithRole", "args": object{"Member": made[1], "Role": "Role:4"}}},
	)
	for user, writes := range map[string]bool{"eve": false, "tim": true} {
		b := newTab(t, s.origin)
		signIn(b, user, password)
		for _, view := range []string{"", "/board"} {
			b.open("/alds/ui/project/" + project + view)
			if !strings.Contains(b.text("main"), "Three") || b.exists("main form[method=post]") != writes || b.exists("[draggable=true], .grip") != writes {
				t.Errorf("%s, who writes: %t, opens %s: %s", user, writes, b.path(), b.html())
			}
		}
	}
}
