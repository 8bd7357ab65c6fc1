package pagetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// TestValuesInPlace checks that each kind of value is changed where it stands: the title, a long text, a value of
// a list, a number, and members. Each needs at most three clicks and keys, and the input.
func TestValuesInPlace(t *testing.T) {
	t.Parallel()
	browser(t)
	s := serve(t, "sqlite")
	story := s.send(object{"AssetType": "Story", "Name": "Pay by card", "Scope": "Scope:0", "Estimate": 3, "Status": "Future"})[0]
	b := newTab(t, s.origin)
	signIn(b, "admin", password)
	b.open(assetPage(story))

	b.click("h1")
	b.waitFor("#f-Name")
	b.fill("#f-Name", "Pay by cash")
	b.press(kb.Enter)
	b.waitFor("h1 .change")

	b.waitFor(".toast form.undo")

	b.click("#fact-Status dd")
	b.waitFor("#f-Status")
	b.choose("#f-Status", "In Progress")
	b.waitFor("#fact-Status .chip")

	b.click("#fact-Estimate dd")
	b.waitFor("#f-Estimate")
	b.fill("#f-Estimate", "8")
	b.press(kb.Enter)
	b.waitFor("#fact-Estimate .change")

	b.click("#fact-Owners dd")
	b.waitFor("#fact-Owners [type=checkbox]")
	b.click("#fact-Owners [type=checkbox]")
	b.click("#fact-Owners button")
	b.waitFor("#fact-Owners .change")

	b.click("#fact-Description .change")
	b.waitFor("#f-Description")
	b.write("#f-Description", "<p>With a <b>receipt</b></p>")
	b.click("#fact-Description button")
	b.waitFor("#fact-Description b")

	b.click("#fact-Estimate dd")
	b.waitFor("#f-Estimate")
	b.fill("#f-Estimate", "13")
	b.press(kb.Escape)
	b.waitFor("#fact-Estimate .change")

	b.click(".adds summary")
	b.click("#fact-Reference a")
	b.waitFor("#f-Reference")
	b.fill("#f-Reference", "RFC 1")
	b.press(kb.Enter)
	b.waitFor("#fact-Reference .change")
	accessible(t, b)

	b.open(assetPage(story))
	got := []string{b.text("h1"), b.text("#fact-Status dd"), b.text("#fact-Estimate dd"), b.text("#fact-Owners dd"), b.text("#fact-Description .text"), b.text("#fact-Reference dd")}
	want := "[Pay by cash In Progress 8 Administrator With a receipt RFC 1]"
	for i := range got {
		got[i] = strings.TrimSpace(got[i])
	}
	if fmt.Sprint(got) != want {
		t.Errorf("the page shows %v, want %s", got, want)
	}
}

// TestValueOfTwo checks that a value which somebody else has changed meanwhile is not overwritten unseen, and
// that a change of another value does not matter.
func TestValueOfTwo(t *testing.T) {
	t.Parallel()
	browser(t)
	s := serve(t, "sqlite")
	story := s.send(object{"AssetType": "Story", "Name": "Pay by card", "Scope": "Scope:0", "Estimate": 3})[0]
	b := newTab(t, s.origin)
	signIn(b, "admin", password)
	b.open(assetPage(story))
	b.click("#fact-Estimate dd")
	b.waitFor("#f-Estimate")
	s.send(object{"from": story, "update": object{"Estimate": 5, "Reference": "new"}})
	b.fill("#f-Estimate", "8")
	b.press(kb.Enter)
	b.waitFor("#fact-Estimate .refused")
	if text := b.text("#r-Estimate mark"); text != "Now: 5" {
		t.Errorf("the field says %q", text)
	}
	s.send(object{"from": story, "update": object{"Reference": "newer"}})
	b.press(kb.Enter)
	b.waitFor("#fact-Estimate .change")
	if text := b.text("#fact-Estimate dd"); !strings.HasPrefix(text, "8") {
		t.Errorf("the estimate is %s", text)
	}
	b.click("#fact-Estimate dd")
	b.waitFor("#f-Estimate")
	eval[bool](b, `(e => { e.type = "text"; e.value = "many"; return true })(document.querySelector("#f-Estimate"))`)
	b.click("#fact-Estimate button")
	b.waitFor("#fact-Estimate .refused")
}

// TestComments checks a comment, a reply and a call of a member, who then takes part in the conversation. Who is
// called does not let others read the comment.
func TestComments(t *testing.T) {
	t.Parallel()
	browser(t)
	s := serve(t, "sqlite")
	anna := s.send(object{"AssetType": "Member", "Name": "Anna Berg", "Nickname": "Anna", "Username": "anna", "DefaultRole": "Role:5", "IsCollaborator": false})[0]
	story := s.send(object{"AssetType": "Story", "Name": "Pay by card", "Scope": "Scope:0"})[0]
	for name, scripted := range map[string]bool{"with script": true, "without": false} {
		b := newTab(t, s.origin)
		signIn(b, "admin", password)
		if !scripted {
			b.withoutScript()
		}
		b.open(assetPage(story))
		b.write("form[action$=comment] textarea[placeholder]", "Does a card expire, @Anna Berg? <b>no</b>")
		b.submit("form[action$=comment]:has([placeholder])")
		if text := b.text(".comment:last-of-type .text"); text != "Does a card expire, @Anna Berg? <b>no</b>" {
			t.Fatalf("%s: the comment is %q", name, text)
		}
		b.click(".comment:last-of-type summary")
		b.write(".comment:last-of-type textarea", "After three years.")
		b.submit(".comment:last-of-type form")
		if text := b.text(".comment:last-of-type"); !strings.Contains(text, "to Administrator") || !strings.Contains(text, "After three years.") {
			t.Errorf("%s: the reply is %q", name, text)
		}
	}
	var found [][]struct {
		Participants []struct {
			Oid string `json:"_oid"`
		} `json:"BelongsTo.Participants"`
		Mentions []any
	}
	s.post("/query.v1", object{"from": "Expression", "where": object{"Mentions": story}, "select": []string{"BelongsTo.Participants", "Mentions"}}, &found)
	if len(found) != 1 || len(found[0]) != 4 {
		t.Fatalf("the expressions are %v", found)
	}
	for _, e := range found[0] {
		if len(e.Participants) != 1 || e.Participants[0].Oid != anna || len(e.Mentions) != 1 {
			t.Errorf("an expression has %v", e)
		}
	}
}
