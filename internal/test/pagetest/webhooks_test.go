package pagetest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// hostile starts a receiver that refuses all deliveries. Its answers contain scripts.
func hostile(t *testing.T) (address string, got <-chan string) {
	t.Helper()
	bodies := make(chan string, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Evil", scripts)
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, scripts+"\x00\xff"+strings.Repeat(longest, 30))
		bodies <- string(b)
	}))
	t.Cleanup(s.Close)
	return s.URL, bodies
}

// TestNewWebhook creates a webhook with the form. The check in the form must list past changes that match,
// and the page must show the secret only once.
func TestNewWebhook(t *testing.T) {
	t.Parallel()
	for _, dialect := range dialects() {
		t.Run(dialect, func(t *testing.T) {
			s := serve(t, dialect)
			s.fill()
			newWebhooks(t, s)
		})
	}
}

func newWebhooks(t *testing.T, s *site) {
	t.Helper()
	for name, scripted := range map[string]bool{"with script": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			b := newTab(t, s.origin)
			signIn(b, "admin", password)
			if !scripted {
				b.withoutScript()
			}
			b.open("/alds/ui/webhooks/new")
			check := func(wants string) {
				t.Helper()
				if scripted {
					b.click("[value=check]")
					b.waitFor("#checked *")
				} else {
					b.submit("main form")
				}
				if got := b.text("main"); !strings.Contains(got, wants) {
					t.Errorf("checked, it says not %q:\n%s", wants, got)
				}
			}
			b.fill("[name=webhookId]", scripts)
			b.fill("[name=url]", "https://example.org/hook?key=hidden")
			b.fill("[name=from]", "PrimaryWorkitem")
			filter := func(text string) { eval[string](b, `document.querySelector("[name=filter]").value = `+quote(text)) }
			filter("Nope='1'")
			if !scripted {
				b.expect("(Bad Request)")
			}
			check("It cannot be read as a filter of the type: Nope='1': there is no attribute PrimaryWorkitem.Nope")
			filter("Name='The receipt is empty'")
			b.click("[name=created]")
			eval[bool](b, `document.querySelector("#checked").replaceChildren() ?? true`)
			check("1 of the last ")
			if n := eval[int](b, `[...document.querySelectorAll("#preview ~ div td strong")].length`); n != 1 {
				t.Errorf("%d changes are said to match", n)
			}
			b.screenshot("webhook-check")
			if status := b.follow("[value=save]"); status != http.StatusOK || !strings.HasPrefix(b.text("#secret"), "whsec_") {
				t.Errorf("created with %d: %s", status, b.text("main"))
			}
			b.open("/alds/ui/webhooks")
			b.follow("tbody th a")
			if text := b.html(); strings.Contains(text, "whsec_") || strings.Contains(text, "key=hidden") {
				t.Error("the page shows a secret")
			}
			if got := b.text("h1"); got != scripts {
				t.Errorf("it is called %q", got)
			}
		})
	}
}

// TestWebhook checks that the page of a webhook shows deliveries and the answers to them, and that its
// forms work.
func TestWebhook(t *testing.T) {
	t.Parallel()
	s := serve(t, "sqlite")
	oids := s.fill()
	address, got := hostile(t)
	var made struct{ ID string }
	s.post("/api/webhook", object{"webhookId": scripts, "url": address + "/" + longest, "description": scripts, "eventTypes": []object{
		{"type": "AssetChanged", "from": "Story", "filter": []string{"Name!='" + strings.ReplaceAll(scripts, "'", "''") + "'"}, "select": []string{"Name", "Description"}},
	}}, &made)
	s.send(object{"from": oids["Story"], "update": object{"Description": scripts}})
	<-got
	b := newTab(t, s.origin)
	signIn(b, "admin", password)
	at := "/alds/ui/webhooks/" + made.ID
	b.open(at)
	for !b.exists("#receipts ~ div details") {
		b.open(at) // repeats this until the receipt is stored
	}
	if text := b.text("main .facts"); !strings.Contains(text, "by Administrator") {
		t.Errorf("it is made by somebody without a name: %s", text)
	}
	b.click("#receipts ~ div details summary")
	if text := b.text("#receipts ~ div details"); !strings.Contains(text, scripts) {
		t.Errorf("the answer is shown as %q", text)
	}
	inspect(b, shown{name: "webhook", path: at}, widths)
	inspect(b, shown{name: "webhooks", path: "/alds/ui/webhooks"}, widths)
	inspect(b, shown{name: "webhook-edit", path: at + "/edit"}, widths)
	b.open(at)
	b.follow("#receipts ~ div td a")
	if text := b.text("main"); !strings.Contains(text, `"sequenceId"`) || !strings.Contains(text, "418") {
		t.Errorf("the delivery is shown as %s", text)
	}
	inspect(b, shown{name: "webhook-delivery", path: strings.TrimPrefix(b.path(), s.origin)}, widths)
	acts(b, at, got)
}

// acts uses each form on the page of a webhook. at is the path of the page.
func acts(b *tab, at string, got <-chan string) {
	b.t.Helper()
	for _, act := range [][2]string{{"pause", "Paused"}, {"resume", "Failing"}, {"disable", "Disabled"}, {"enable", "Healthy"}} {
		b.open(at)
		if b.submit("form[action$=" + act[0] + "]"); b.text("dl .state") != act[1] {
			b.t.Errorf("after %s it is %s", act[0], b.text("dl .state"))
		}
	}
	b.submit("form[action$=test]")
	for body := <-got; !strings.Contains(body, `"Test"`); body = <-got { // further tries to deliver the change arrive, too
	}
	b.open(at + "?state=dropped")
	if b.follow("#deliveries ~ div form button"); !strings.Contains(b.text("[role=status]"), "sent again") {
		b.t.Errorf("sent again, it says %s", b.text("main"))
	}
	<-got
	b.expect("(Bad Request)")
	b.expect("(Not Found)")
	for path, status := range map[string]int{at + "?state=none": 400, at + "?page=x": 400, "/alds/ui/webhooks/nothing": 404, at + "/deliveries/nothing": 404} {
		if got := b.open(path); got != status {
			b.t.Errorf("%s: %d", path, got)
		}
	}
	b.open(at)
	b.click("[name=sure]")
	b.submit("form[action$=delete]")
	if b.path() != "/alds/ui/webhooks?done=webhook-delete" {
		b.t.Errorf("deleted, the tab is at %s", b.path())
	}
}

// TestWebhookOfTwoAdministrators lets two administrators change a webhook at the same time. The second
// administrator must see a message about the change of the first, and the form must keep the input.
func TestWebhookOfTwoAdministrators(t *testing.T) {
	t.Parallel()
	s := serve(t, "sqlite")
	var made struct{ ID string }
	s.post("/api/webhook", object{"webhookId": "Orders", "url": "https://example.org/hook", "eventTypes": []object{{"type": "AssetCreated", "from": "Story"}}}, &made)
	b := newTab(t, s.origin)
	signIn(b, "admin", password)
	b.open("/alds/ui/webhooks/" + made.ID + "/edit")
	s.post("/api/webhook/"+made.ID, object{"description": "of another"}, &made)
	b.fill("[name=description]", "mine")
	b.expect("(Conflict)")
	if status := b.follow("[value=save]"); status != http.StatusConflict || !strings.Contains(b.text("[role=alert]"), "Somebody has changed") {
		t.Errorf("%d: %s", status, b.text("main"))
	}
	var now struct{ Description string }
	if s.get("/api/webhook/"+made.ID, &now); now.Description != "of another" || eval[string](b, `document.querySelector("[name=description]").value`) != "mine" {
		t.Errorf("it is described as %q: %s", now.Description, b.html())
	}
	b.follow("[value=save]")
	if s.get("/api/webhook/"+made.ID, &now); now.Description != "mine" {
		t.Errorf("saved again, it is described as %q", now.Description)
	}
}
