package pagetest

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp/kb"
)

// visitor is a client with a session, for tests that do not need a browser.
type visitor struct {
	t       *testing.T
	s       *site
	session string
}

func (s *site) visitor(username, password string) *visitor {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.base+"/api/tokens", strings.NewReader(`{"session": true}`))
	if err != nil {
		s.t.Fatal(err)
	}
	req.SetBasicAuth(username, password)
	v := &visitor{t: s.t, s: s}
	var made struct{ Token string }
	if err := json.Unmarshal([]byte(v.do(req, http.StatusOK)), &made); err != nil {
		s.t.Fatal(err)
	}
	v.session = made.Token
	return v
}

func (v *visitor) do(req *http.Request, want int) string {
	v.t.Helper()
	req.AddCookie(&http.Cookie{Name: ".V1.Ticket.alds", Value: v.session}) //nolint:gosec // a cookie of a request
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != want {
		v.t.Fatalf("%s %s: %s, %v: %.2000s", req.Method, req.URL.Path, res.Status, err, body)
	}
	return string(body)
}

func (v *visitor) get(path string) string {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, v.s.base+path, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	return v.do(req, http.StatusOK)
}

// send sends the form of the console, and returns the part of the page that has the answer.
func (v *visitor) send(path, request, action string, want int) string {
	v.t.Helper()
	status, page := v.submit("/ui/console", url.Values{"request": {request}, "path": {path}, "action": {action}})
	if status != want {
		v.t.Fatalf("the console answers %d, want %d: %.2000s", status, want, page)
	}
	begin, end := strings.Index(page, `<section id="answer"`), strings.Index(page, `<section aria-labelledby="more"`)
	if begin < 0 || end < begin {
		v.t.Fatalf("the page has no answer: %s", page)
	}
	return page[begin:end]
}

// TestConsoleExamples checks that every example in the console works, in a new database and in one with
// data. It runs the examples as an administrator, as a member who may write, and as a member who may only
// read.
func TestConsoleExamples(t *testing.T) {
	t.Parallel()
	const secret = "correct horse"
	s := serve(t, "sqlite")
	link := regexp.MustCompile(`<a href="/alds/ui/console\?([^"]*)">`)
	run := func(username, password string, atLeast int) {
		t.Helper()
		v := s.visitor(username, password)
		links := link.FindAllStringSubmatch(v.get("/ui/console"), -1)
		if len(links) < atLeast {
			t.Errorf("%s has %d examples", username, len(links))
		}
		for _, l := range links {
			params, err := url.ParseQuery(html.UnescapeString(l[1]))
			if err != nil {
				t.Fatal(err)
			}
			for _, action := range []string{"preview", "run"} {
				answer := v.send(params.Get("path"), params.Get("request"), action, http.StatusOK)
				if strings.Contains(answer, "refused") || strings.Contains(answer, "<h3>Failed") {
					t.Errorf("%s, %s of %s: %s", username, action, params.Get("request"), answer)
				}
			}
		}
	}
	run("admin", password, 25)
	s.fill()
	s.send(
		object{"AssetType": "Member", "Name": "Writer", "Nickname": "Writer", "Username": "writer", "Password": secret, "DefaultRole": "Role:4"},
		object{"AssetType": "Member", "Name": "Reader", "Nickname": "Reader", "Username": "reader", "Password": secret, "DefaultRole": "Role:8"},
	)
	run("admin", password, 25)
	run("writer", secret, 10)
	run("reader", secret, 8)
}

// TestConsoleAnswers checks that the console shows all parts of the answer to every kind of request.
func TestConsoleAnswers(t *testing.T) {
	t.Parallel()
	s := serve(t, "sqlite")
	oids := s.fill()
	v := s.visitor("admin", password)
	story, ada := oids["Story"], oids["Member"]
	var many strings.Builder
	for i := range 1200 {
		fmt.Fprintf(&many, `{"AssetType": "Task", "Name": "T%d", "Parent": %q},`, i, story)
	}
	s.send(object{"from": story, "update": object{"Owners": []string{"Member:20"}, "Status": "In Progress"}})
	for name, c := range map[string]struct {
		path, request, action string
		status                int
		want                  []string
	}{
		"nothing":            {"api/asset", " \r\n", "run", 400, []string{"The request is empty."}},
		"no JSON":            {"api/asset", "{\"from\":\r\n \"Story\",,}", "run", 400, []string{"Invalid JSON", `<i>2</i> &#34;Story&#34;,<mark>,</mark>}`}},
		"no YAML":            {"api/asset", "from: Story\nwhere: [", "run", 400, []string{`role="alert"`, "<mark>"}},
		"a wrong query":      {"query.v1", "{\"from\": \"Story\",\n\"select\": [\"Nix\"]}", "run", 400, []string{"Unknown AttributeDefinition: Story.Nix", `&#34;<mark>Nix</mark>&#34;`}},
		"failed commands":    {"api/asset", "[{\"AssetType\": \"Story\", \"Name\": \"x\"},\n{\"from\": \"Nonsense\"}]", "run", 200, []string{"<h3>Failed 2</h3>", "Scope is required", "Violation&#39;Required&#39;Story.Scope", "line 1, column 17", "<mark>Story</mark>", "line 2, column 11", "<mark>Nonsense</mark>"}},
		"failed in YAML":     {"api/asset", "from: " + story + "\nupdate:\n  Estimate: none\n---\nfrom: " + story + "\nexecute: EpicToStory\n", "run", 200, []string{"Estimate is not valid", "line 3, column 13", "<mark>none</mark>", "line 6, column 10", "<mark>EpicToStory</mark>"}},
		"roles":              {"query.v1", `{"from": "Member:20", "select": ["DefaultRole.Name"]}`, "run", 200, []string{"<td>System Admin</td>"}},
		"rows":               {"query.v1", `{"from": "` + story + `", "select": ["Owners", "Estimate", {"from": "Scope", "select": ["Name"]}], "total": true}`, "run", 200, []string{"1 row of 1", `>Member:20</a>`, `<th scope="col">Estimate</th>`, "Web shop &lt;script&gt;"}},
		"a thousand rows":    {"api/asset", "[" + strings.TrimSuffix(many.String(), ",") + `,{"from": "Task", "select": ["Name"]}]`, "run", 200, []string{"Created 1200", "1201 rows; 201 of them are not shown", "and 1000 more", "too long for a link"}},
		"a preview":          {"api/asset", `{"from": "` + story + `", "update": {"Estimate": 8, "Owners": {"add": "` + ada + `", "remove": "Member:20"}, "Name": {"find": "card", "replace": "cash"}, "Status": null}}`, "preview", 200, []string{"<del>0</del> → <ins>8</ins>", "<del>Administrator</del>, <ins>Ada ", "Pay by <del>card</del><ins>cash</ins>", "<del>In Progress</del>", "is checked when the request runs"}},
		"previewed the same": {"api/asset", `[{"from": "` + story + `", "update": {"Estimate": 0, "Status": "In Progress"}}]`, "preview", 200, []string{"<strong>Unchanged</strong>", "In Progress <small>as it is now</small>", "Nothing would change."}},
		"previewed twice":    {"api/asset", `[{"from": "` + story + `", "update": {"Estimate": 8}}, {"from": "` + story + `", "update": {"Estimate": 9}}]`, "preview", 200, []string{"<del>0</del> → <ins>8</ins>", "<del>8</del> → <ins>9</ins>"}},
		"previewed creates":  {"api/asset", `[{"AssetType": "Epic", "Name": "E", "Scope": "Scope:0", "Subs": [{"AssetType": "Story", "Name": "S"}]}, {"from": "` + story + `", "execute": "Delete"}, {"from": "Story"}]`, "preview", 200, []string{"<ins>System (All Projects)</ins>", "<ins>the new Epic E</ins>", "</strong> Delete on", "1 query, only reading"}},
		"a preview of query": {"query.v1", `{"from": "Story"}`, "preview", 200, []string{"Nothing would change."}},
		"a plan":             {"query.v1", `{"from": "Story", "select": ["Name"], "page": {"size": 3}}`, "explain", 200, []string{"<strong>3 rows</strong> in", "SELECT t0.id", "SEARCH t0"}},
		"no plan":            {"api/asset", `{"from": "Story", "update": {"Name": "x"}}`, "explain", 400, []string{"Only queries are explained"}},
		"a plan of nothing":  {"api/asset", `{"from": "Nix"}`, "explain", 200, []string{"Unknown AssetType: Nix", "line 1, column 11", "<mark>Nix</mark>"}},
		"a password":         {"api/asset", `{"from": "Member:20", "select": ["Password"]}`, "run", 200, []string{"there is no link to it"}},
	} {
		answer := v.send(c.path, c.request, c.action, c.status)
		for _, want := range c.want {
			if !strings.Contains(answer, want) {
				t.Errorf("%s: the answer lacks %s: %.3000s", name, want, answer)
			}
		}
	}
	if page := v.get("/ui/console?request=" + url.QueryEscape(`{"from": "`+story+`", "execute": "Delete"}`)); strings.Contains(page, "<h2 id=\"answered\"") {
		t.Errorf("a link runs its request")
	}
}

// TestConsole writes a request with the keyboard. If the request has a mistake, the cursor must move to the
// mistake. Then it finds the request in the history, and follows a link that opens a request.
func TestConsole(t *testing.T) {
	t.Parallel()
	s := serve(t, "sqlite")
	oids := s.fill()
	b := newTab(t, s.origin)
	signIn(b, "admin", password)
	b.open("/alds/ui/console")
	edit(b, `{"from": "Story", "select": ["Nam"]}`)
	b.press(kb.Enter, kb.ModifierCtrl)
	b.waitFor("#answer .failures")
	if at := eval[string](b, `(() => { const e = document.activeElement; return e.value.slice(e.selectionStart, e.selectionEnd) })()`); at != "Nam" {
		t.Errorf("the cursor is at %q", at)
	}
	b.press(kb.ArrowRight)
	b.press("e")
	b.press(kb.Enter, kb.ModifierCtrl)
	b.waitFor("#result-0")
	if b.exists("#answer script") || !strings.Contains(b.text("#answer"), scripts) {
		t.Errorf("the rows are %s", b.text("#answer"))
	}
	if eval[string](b, `document.querySelector("#numbers").textContent.trim()`) != "1" {
		t.Errorf("the lines are counted as %q", b.text("#numbers"))
	}
	b.open("/alds/ui/profile")
	b.loads(func() { eval[any](b, "void history.back()") })
	if value := eval[string](b, `document.querySelector("#request").value`); value != `{"from": "Story", "select": ["Name"]}` || !strings.Contains(b.path(), "request=") {
		t.Errorf("the way back leads to %s, with %s", b.path(), value)
	}
	completes(b)
	edit(b, `{"from": "`+oids["Story"]+`", "update": {"Name": "`+`<img src=x onerror=alert(7)>`+`"}}`)
	b.press(kb.Enter, kb.ModifierCtrl, kb.ModifierShift)
	b.waitFor("#answer .effects")
	b.follow("#answer p.row a")
	if value := eval[string](b, `document.querySelector("#request").value`); !strings.Contains(value, "onerror=alert(7)") || b.exists("#answered") {
		t.Errorf("the link fills the editor with %s", value)
	}
	b.click("#history summary")
	b.screenshot("console-history")
	b.click("#history li:nth-child(2) button")
	if value := eval[string](b, `document.querySelector("#request").value`); value != `{"from": "Story", "select": ["Name"]}` {
		t.Errorf("the history has %s", value)
	}
	b.click("#history > button")
	if eval[bool](b, `document.querySelector("#history").checkVisibility()`) {
		t.Errorf("the history is not cleared")
	}
}

// edit replaces the text in the editor of the console by the text of request.
func edit(b *tab, request string) {
	b.t.Helper()
	b.click("#request")
	eval[bool](b, `(document.querySelector("#request").value = "", true)`)
	b.press(request)
}

// enter presses Enter as a keyboard does. Unless the page handles the key, this starts a new line.
func enter(b *tab) {
	b.t.Helper()
	command(b, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeRawKeyDown, Key: "Enter", Code: "Enter", WindowsVirtualKeyCode: 13})
}

// completes checks that the editor completes names, and that Tab leaves the editor.
func completes(b *tab) {
	b.t.Helper()
	edit(b, `{"from": "Stor`)
	b.waitFor("#completions [role=option]")
	b.screenshot("console-completion")
	b.press(kb.ArrowDown)
	enter(b)
	for _, typed := range []string{`", "select": ["Scope.Na`, `", "Esti`} {
		for _, r := range typed {
			b.press(string(r))
		}
		b.waitFor("#completions [role=option]")
		b.press(kb.ArrowDown)
		if id := eval[string](b, `document.activeElement.getAttribute("aria-activedescendant")`); id != "completion-0" {
			b.t.Errorf("the list marks %q", id)
		}
		enter(b)
	}
	if value := eval[string](b, `document.querySelector("#request").value`); value != `{"from": "Story", "select": ["Scope.Name", "Estimate` {
		b.t.Errorf("completed is %s", value)
	}
	b.press(" ", kb.ModifierCtrl)
	b.press(kb.Escape)
	b.press(kb.Tab)
	if eval[bool](b, `document.activeElement === document.querySelector("#request") || document.querySelector("#completions").checkVisibility()`) {
		b.t.Errorf("Tab stays in the editor")
	}
}

// TestConsoleWithoutScript checks that the form of the console works without script, and that the page
// marks a mistake.
func TestConsoleWithoutScript(t *testing.T) {
	t.Parallel()
	s := serve(t, "sqlite")
	s.fill()
	b := newTab(t, s.origin)
	b.withoutScript()
	signIn(b, "admin", password)
	b.open("/alds/ui/console")
	edit(b, `{"from": "Story", "select": ["Name"]}`)
	if status := b.submit("#console"); status != http.StatusOK || !strings.Contains(b.text("#answer table"), scripts) {
		t.Errorf("%d: %s", status, b.text("#answer"))
	}
	edit(b, `{"from": "Story", "selec": ["Name"]}`)
	if b.submit("#console"); b.text("#answer mark") == "" {
		t.Errorf("nothing is marked: %s", b.text("#answer"))
	}
}

// TestConsoleLooks checks that each kind of answer fits on every screen and is accessible.
func TestConsoleLooks(t *testing.T) {
	t.Parallel()
	s := serve(t, "sqlite")
	story := s.fill()["Story"]
	b := newTab(t, s.origin)
	signIn(b, "admin", password)
	for name, c := range map[string]struct{ request, action string }{
		"rows":    {`{"from": "Story", "select": ["Name", "Number", "Estimate", "Scope.Name", "Owners.Name", "Description", "ChangeDate"], "page": {"size": 70}}`, "run"},
		"failed":  {"[{\"from\": \"Story\",\n  \"select\": [\"Name\", \"Nothing\"]},\n {\"AssetType\": \"Story\", \"Name\": \"" + longest + "\"}\n]", "run"},
		"refused": {`{"from": "Story", "select": ["Name"`, "run"},
		"preview": {`[{"from": "` + story + `", "update": {"Name": {"find": "card", "replace": "cash"}, "Estimate": 5, "Description": "` + longest + `"}}, {"AssetType": "Story", "Name": "New", "Scope": "Scope:0"}]`, "preview"},
		"plan":    {`{"from": "Story", "select": ["Name", "Owners.Name"]}`, "explain"},
	} {
		b.open("/alds/ui/console?request=" + url.QueryEscape(c.request))
		b.click("#console [value=" + c.action + "]")
		b.waitFor("#answered")
		for _, on := range screens(t, "console-"+name, widths) {
			b.size(on.width, on.width*3/4)
			b.colorScheme(on.scheme)
			eval[bool](b, `(document.getAnimations().forEach(a => a.finish()), true)`)
			for _, wide := range overflows(b) {
				t.Errorf("%s, %d: %s", name, on.width, wide)
			}
			b.screenshot(fmt.Sprintf("console-%s-%d-%s", name, on.width, on.scheme))
		}
		accessible(t, b)
		if _, missed := keyboard(b); len(missed) > 0 {
			t.Errorf("%s: the Tab key does not reach %q", name, missed)
		}
	}
}
