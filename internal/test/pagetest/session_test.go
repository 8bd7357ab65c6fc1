package pagetest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestSignInAndOut checks that the sign-in leads to the requested page, with and without script, and that
// the sign-out ends the session.
func TestSignInAndOut(t *testing.T) {
	t.Parallel()
	s := serve(t, "sqlite")
	for name, script := range map[string]bool{"with script": true, "without script": false} {
		t.Run(name, func(t *testing.T) {
			b := newTab(t, s.origin)
			if !script {
				b.withoutScript()
			}
			b.open("/alds/ui/applications?x=1")
			b.fill("[name=username]", "admin")
			b.fill("[name=password]", "wrong")
			b.expect("401")
			if status := b.submit("main form"); status != http.StatusUnauthorized || !strings.Contains(b.text("[role=alert]"), "wrong password") {
				t.Errorf("a wrong password: %d %s", status, b.text("main"))
			}
			b.fill("[name=password]", password)
			if b.submit("main form"); b.path() != "/alds/ui/applications?x=1" {
				t.Errorf("the sign-in leads to %s", b.path())
			}
			if script && eval[string](b, "document.cookie") != "" {
				t.Errorf("scripts read the session: %s", eval[string](b, "document.cookie"))
			}
			b.signOut()
			if b.open("/alds/ui/profile"); b.path() != "/alds/ui/sign-in?next=%2Falds%2Fui%2Fprofile" {
				t.Errorf("after the sign-out %s is read", b.path())
			}
		})
	}
}

// signOut signs out by the menu of the member.
func (b *tab) signOut() (status int) {
	b.t.Helper()
	b.click("header summary:has(.avatar)")
	return b.submit("header form[method=post]")
}

// TestASessionThatEnds sends a form after the session has ended. The page must say that nothing was saved,
// and a new sign-in must lead back to the form.
func TestASessionThatEnds(t *testing.T) {
	t.Parallel()
	s := serve(t, "sqlite")
	for name, end := range map[string]func(b *tab){
		"revoked": func(b *tab) {
			var all struct {
				Tokens []struct {
					ID      string
					Session bool
				}
			}
			s.get("/api/tokens", &all)
			for _, token := range all.Tokens {
				if token.Session {
					s.post("/api/tokens/revoke/"+token.ID, object{}, new(any))
				}
			}
		},
		"ended in another tab": func(b *tab) {
			eval[int](b, `(async () => { const f = document.querySelector("header form[method=post]"); return (await fetch(f.action, {method: "POST", body: new URLSearchParams(new FormData(f))})).status })()`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newTab(t, s.origin)
			signIn(b, "admin", password)
			b.open("/alds/ui/profile?x=1")
			end(b)
			b.fill("[name=Name]", "Nobody")
			if b.submit("form[action$=profile]"); !strings.Contains(b.text("main"), "nothing was saved") {
				t.Errorf("at %s it says %s", b.path(), b.text("main"))
			}
			b.fill("[name=username]", "admin")
			b.fill("[name=password]", password)
			if b.submit("main form"); b.path() != "/alds/ui/profile?x=1" || eval[string](b, `document.querySelector("[name=Name]").value`) != "Administrator" {
				t.Errorf("it leads to %s: %s", b.path(), b.html())
			}
		})
	}
}

// TestSignOutTwice signs out after the session has ended. The page must not say that something was not
// saved.
func TestSignOutTwice(t *testing.T) {
	t.Parallel()
	s := serve(t, "sqlite")
	b := newTab(t, s.origin)
	signIn(b, "admin", password)
	b.open("/alds/ui/profile")
	eval[int](b, `(async () => { const f = document.querySelector("header form[method=post]"); return (await fetch(f.action, {method: "POST", body: new URLSearchParams(new FormData(f))})).status })()`)
	if status := b.signOut(); status != http.StatusOK || b.path() != "/alds/ui/sign-in" || b.exists("[role=alert]") {
		t.Errorf("%d at %s: %s", status, b.path(), b.text("main"))
	}
}

// TestApplications checks that an access token is shown only once, has the rights of its member, and no
// longer works when it is revoked.
func TestApplications(t *testing.T) {
	t.Parallel()
	s := serve(t, "sqlite")
	b := newTab(t, s.origin)
	b.withoutScript()
	signIn(b, "admin", password)
	b.open("/alds/ui/applications")
	b.fill("[name=name]", scripts)
	b.submit("form[action$=applications]")
	token := b.text("#token")
	if status := s.asks(t, token); status != http.StatusOK {
		t.Errorf("the new token %q is answered with %d", token, status)
	}
	if line := b.text("article"); !strings.Contains(line, "curl -H 'Authorization: Bearer "+token+"' "+s.base+"/query.v1") {
		t.Errorf("there is no line to copy: %s", line)
	}
	b.expect("(Bad Request)")
	eval[any](b, `document.querySelector("[name=expires]").type = "text"`) // as in a browser without date fields
	for text, want := range map[string]string{"soon": "write a day such as", "2020-01-01": "over already"} {
		b.fill("[name=name]", "Nightly")
		b.fill("[name=expires]", text)
		if status := b.submit("form[action$=applications]"); status != http.StatusBadRequest || !strings.Contains(b.text("[role=alert]"), want) || eval[string](b, `document.querySelector("[name=name]").value`) != "Nightly" {
			t.Errorf("it expires %s: %d %s", text, status, b.text("main"))
		}
		eval[any](b, `document.querySelector("[name=expires]").type = "text"`)
	}
	b.open("/alds/ui/applications")
	if strings.Contains(b.html(), token) {
		t.Error("the token is shown a second time")
	}
	if row := b.text("tbody tr"); !strings.Contains(row, scripts) {
		t.Errorf("the list says %s", row)
	}
	// The service records the use of a token a moment later.
	for end := time.Now().Add(b.patience); !strings.Contains(b.text("tbody tr"), "127.0.0.1"); b.open("/alds/ui/applications") {
		if time.Now().After(end) {
			t.Fatalf("the list does not say where the token was used from: %s", b.text("tbody tr"))
		}
	}
	b.submit("tbody form")
	if status := s.asks(t, token); status != http.StatusUnauthorized {
		t.Errorf("the revoked token is answered with %d", status)
	}
}

// TestAFormSentTwice checks that a form creates only one asset or secret, even if it is sent a second time.
func TestAFormSentTwice(t *testing.T) {
	t.Parallel()
	s := serve(t, "sqlite")
	b := newTab(t, s.origin)
	signIn(b, "admin", password)
	b.expect("(Conflict)")
	for _, c := range []struct{ page, form, button, list string }{
		{"/alds/ui/applications", "form[action$=applications]", "", "/alds/ui/applications"},
		{"/alds/ui/webhooks/new", "main form", "[value=save]", "/alds/ui/webhooks"},
		{"/alds/ui/members/new", "main form", "", "/alds/ui/members"},
		{"/alds/ui/project/Scope:0", "#add", "", "/alds/ui/project/Scope:0"},
	} {
		b.open(c.page)
		for name, text := range map[string]string{"name": "Twice", "webhookId": "Twice", "url": "https://example.org/hook", "username": "twice"} {
			if b.exists(c.form + " [name=" + name + "]") {
				b.fill(c.form+" [name="+name+"]", text)
			}
		}
		sent := eval[int](b, `(async () => { const f = document.querySelector(`+quote(c.form)+`), all = new URLSearchParams(new FormData(f));
			if (`+quote(c.button)+`) all.append("action", "save");
			return (await fetch(f.getAttribute("action"), {method: "POST", body: all})).status })()`)
		if status := b.follow(c.form + " [type=submit]" + c.button); sent != http.StatusOK || status != http.StatusConflict || !strings.Contains(b.text("[role=alert]"), "sent before") {
			t.Errorf("%s: %d, then %d: %s", c.page, sent, status, b.text("main"))
		}
		b.open(c.list)
		if n := strings.Count(b.text("main table"), "Twice"); n != 1 {
			t.Errorf("%s shows it %d times: %s", c.list, n, b.text("main"))
		}
	}
}

// TestDoubleClick checks that the page does not send a form again while its request runs.
func TestDoubleClick(t *testing.T) {
	t.Parallel()
	s := serve(t, "sqlite")
	b := newTab(t, s.origin)
	signIn(b, "admin", password)
	b.open("/alds/ui/applications")
	b.fill("[name=name]", "Nightly")
	if got := eval[string](b, `(() => {
		const held = [], form = document.querySelector("form[action$=applications]");
		addEventListener("submit", (event) => { held.push(event.defaultPrevented); event.preventDefault() });
		form.requestSubmit();
		form.requestSubmit();
		return held.join() })()`); got != "false,true" {
		t.Errorf("of two clicks are held back: %s", got)
	}
}

// TestRefusalOf checks which answers count as a success for the script of the page.
func TestRefusalOf(t *testing.T) {
	t.Parallel()
	s := serve(t, "sqlite")
	b := newTab(t, s.origin)
	b.open("/alds/ui/sign-in")
	got := eval[string](b, `(async () => (await Promise.all([
		new Response(null, {status: 204}), new Response("", {status: 200, headers: {"HX-Redirect": "/x"}}), new Response("Not now", {status: 400}), new Response("", {status: 502}),
	].map(refusalOf))).join("|"))()`)
	if want := "|The session has ended. Sign in and do it again.|Not now|The service does not answer."; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// asks sends a query with an access token and returns the status.
func (s *site) asks(t *testing.T, token string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/query.v1", strings.NewReader(`{"from": "Scope"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

// TestProfile checks that members can change their profile. A new password must end all other sessions of
// the member.
func TestProfile(t *testing.T) {
	t.Parallel()
	s := serve(t, "mysql")
	other := newTab(t, s.origin)
	signIn(other, "admin", password)
	b := newTab(t, s.origin)
	b.withoutScript()
	signIn(b, "admin", password)
	b.open("/alds/ui/profile")
	b.fill("[name=Name]", scripts)
	b.submit("form[action$=profile]")
	b.click("header summary:has(.avatar)")
	if name := b.text("header a[href$=profile]"); name != scripts || !strings.Contains(b.text("[role=status]"), "Saved") {
		t.Errorf("the new name is %q", name)
	}
	change := func(old, fresh, again string) (status int) {
		b.fill("[name=old]", old)
		b.fill("[name=password]", fresh)
		b.fill("[name=again]", again)
		return b.submit("form[action$=password]")
	}
	b.expect("400")
	if status := change(password, "one thing", "another"); status != http.StatusBadRequest || !strings.Contains(b.text("[role=alert]"), "differ") {
		t.Errorf("two new passwords: %d %s", status, b.text("main"))
	}
	if status := change("guessed", "a new one", "a new one"); status != http.StatusBadRequest || !strings.Contains(b.text("[role=alert]"), "The present password is wrong.") {
		t.Errorf("a wrong old password: %d %s", status, b.text("main"))
	}
	if change(password, "a new one", "a new one"); b.path() != "/alds/ui/profile?done=changed" {
		t.Errorf("a new password leads to %s: %s", b.path(), b.text("main"))
	}
	if other.open("/alds/ui/profile"); !strings.HasPrefix(other.path(), "/alds/ui/sign-in") {
		t.Errorf("another session reads %s", other.path())
	}
	signIn(other, "admin", "a new one")
}

// TestSample checks the sample project of a new standalone. While the page of its receiver is open, webhook
// events must appear on it. One click must remove the project.
func TestSample(t *testing.T) {
	t.Parallel()
	s := serve(t, "sqlite")
	b := newTab(t, s.origin)
	signIn(b, "admin", password)
	s.post("/api/webhook", object{"webhookId": "sample", "url": "https://example.org/hook", "enabled": false, "eventTypes": []object{{"type": "AssetCreated", "from": "Story"}}}, new(json.RawMessage))
	b.open("/alds/ui/welcome")
	b.submit("form[action$=welcome]")
	b.follow("a[href*=receiver]")
	s.send(object{"from": "Story", "where": object{"Name": "Gift wrap"}, "update": object{"Name": scripts}})
	b.waitFor("#deliveries article")
	if text := b.text("#deliveries"); !strings.Contains(text, `"eventType": "AssetChanged"`) || !strings.Contains(text, "onerror=alert(2)") {
		t.Errorf("what came is shown as %s", text)
	}
	s.send(object{"from": "Scope", "where": object{"Name": "Sample: Online shop"}, "update": object{"Schedule": nil}})
	b.open("/alds/ui/welcome")
	b.submit("form[action$=remove]")
	if !b.exists("form[action$=welcome]") {
		t.Errorf("the sample is still there: %s", b.text("main"))
	}
	var left json.RawMessage
	if s.post("/query.v1", []object{{"from": "Scope"}, {"from": "Timebox"}, {"from": "Schedule"}}, &left); string(left) != `[[{"_oid":"Scope:0"}],[],[]]` {
		t.Errorf("left are %s", left)
	}
}

// TestFrames checks that another site cannot show a page of alds in a frame.
func TestFrames(t *testing.T) {
	t.Parallel()
	s := serve(t, "sqlite")
	other := pagesOf(t, map[string]string{"/": `<iframe title=a src="` + s.origin + `/alds/ui/sign-in"></iframe>`})
	b := newTab(t, other)
	b.expect("frame-ancestors")
	b.expect(s.origin)
	b.open("/")
	if !eval[bool](b, `document.querySelector('iframe').contentDocument === null`) {
		t.Error("the frame shows a page")
	}
}

// TestGreeting checks that the sign-in on a new standalone leads to the welcome page, but no longer if a
// project exists.
func TestGreeting(t *testing.T) {
	t.Parallel()
	s := serve(t, "sqlite")
	b := newTab(t, s.origin)
	signIn(b, "admin", password)
	if b.path() != "/alds/ui/welcome" {
		t.Errorf("a new service begins with %s", b.path())
	}
	s.send(object{"AssetType": "Scope", "Name": "Shop", "Parent": "Scope:0", "BeginDate": "2026-01-01"})
	if b.open("/alds/ui/"); b.path() != "/alds/ui/" || !strings.Contains(b.text("main"), "Nothing waits for you") {
		t.Errorf("a service with a project begins with %s: %s", b.path(), b.text("main"))
	}
	if b.open("/alds/ui/welcome"); strings.Contains(b.text("main"), "Your first project") {
		t.Errorf("the welcome says %s", b.text("main"))
	}
}
