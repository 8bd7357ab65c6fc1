package pagetest

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// assetPage returns the path of the page of an asset.
func assetPage(oid string) string { return "/alds/assetdetail.v1?oid=" + oid }

// TestAsset reads, changes, closes, deletes and restores an asset on its page, with and without script.
func TestAsset(t *testing.T) {
	t.Parallel()
	browser(t)
	s := serve(t, "sqlite")
	for name, scripted := range map[string]bool{"with script": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			created := s.send(object{
				"AssetType": "Story", "Name": "Pay by card", "Scope": "Scope:0", "Estimate": 3, "Description": "<p>A <b>receipt</b></p>",
				"Children": []object{{"AssetType": "Task", "Name": "Choose a provider", "ToDo": 2}},
			})
			b := newTab(t, s.origin)
			signIn(b, "admin", password)
			if !scripted {
				b.withoutScript()
			}
			if status := b.open(assetPage(created[0])); status != http.StatusOK || b.text("h1") != "Pay by card" || b.text(".text b") != "receipt" || !strings.Contains(b.text("#of-Children"), "Children") {
				t.Fatalf("%d: %s", status, b.html())
			}
			if scripted {
				b.waitGone("section[hx-get]")
			} else {
				b.follow("section[hx-get] a")
			}
			if !strings.Contains(b.text(".asset > aside"), "Allocated To Do") {
				t.Errorf("the totals are missing: %s", b.text(".asset"))
			}
			b.follow(".tabs li:nth-child(4) a")
			b.fill("#f-Name", "Pay by cash")
			b.fill("#f-Estimate", "5")
			if b.submit("main form"); b.text("h1") != "Pay by cash" || b.text("[role=status]") != "Saved." {
				t.Fatalf("%s: %s", b.path(), b.html())
			}
			b.follow(".tabs li:nth-child(2) a")
			if got := b.text("tbody tr:first-child td.text"); got != "Title: Pay by card → Pay by cash; Estimate: 3 → 5" {
				t.Errorf("the history says %q", got)
			}
			if b.submit("main form"); b.text(".source del") != "card" || b.text(".source ins") != "cash" || !strings.Contains(b.path(), "from=") {
				t.Errorf("%s: %s", b.path(), b.html())
			}
			b.open(assetPage(created[0]))
			b.click("#operations > summary")
			if b.follow("button[value=Close]"); b.text("hgroup mark") != "Closed" {
				t.Errorf("closed, it is %s", b.text("hgroup mark"))
			}
			b.click("#operations > summary")
			b.follow("button[value=Reactivate]")
			b.click("#operations > summary")
			b.click("#operations details:has([value=Delete]) summary")
			if b.submit("#operations details:has([value=Delete]) form"); b.text(".refused") != "It is deleted." {
				t.Errorf("deleted: %s", b.html())
			}
			b.click("#operations > summary")
			if b.follow("button[value=Undelete]"); b.text("hgroup mark") != "Active" {
				t.Errorf("brought back, it is %s", b.text("hgroup mark"))
			}
		})
	}
}

// TestAssetRefusals checks that the page shows a refusal next to the field, and that the form keeps its
// input. The same must hold if another user has changed the asset first.
func TestAssetRefusals(t *testing.T) {
	t.Parallel()
	browser(t)
	s := serve(t, "sqlite")
	story := s.send(object{"AssetType": "Story", "Name": "Pay by card", "Scope": "Scope:0", "Estimate": 3})[0]
	b := newTab(t, s.origin)
	b.expect("400")
	b.expect("409")
	signIn(b, "admin", password)
	b.open(assetPage(story) + "&tab=edit")
	if eval[bool](b, "document.querySelector(\"[name='add.Dependencies']\").checkVisibility()") {
		t.Error("the relations are not folded")
	}
	b.click("details:has([name='add.Dependencies']) summary")
	b.fill("[name='add.Dependencies']", "Pay by card; nobody knows it")
	b.fill("#f-Name", "Pay by cash")
	if status := b.submit("main form"); status != http.StatusBadRequest || b.text("fieldset:has([name='add.Dependencies']) + small .wrong") == "" ||
		eval[string](b, "document.querySelector('#f-Name').value") != "Pay by cash" {
		t.Fatalf("%d: %s", status, b.html())
	}
	if text := b.text("fieldset:has([name='add.Dependencies']) + small .wrong"); !strings.Contains(text, "“nobody knows it”") || strings.Contains(text, "Pay by card") {
		t.Errorf("the field says %s", text)
	}
	b.screenshot("asset-refused")
	b.fill("[name='add.Dependencies']", " ") // the group with this field is open
	// A browser that does not check fields would send the form like this.
	eval[bool](b, "(e => { e.required = false; e.value = ''; return true })(document.querySelector('#f-Name'))")
	if status := b.submit("main form"); status != http.StatusBadRequest || b.text("#r-Name .wrong") != "Title is required" {
		t.Errorf("%d: %s", status, b.text("main"))
	}
	b.fill("#f-Name", "Pay by cash")
	s.send(object{"from": story, "update": object{"Name": "Pay by gold", "Estimate": 8}})
	if status := b.submit("main form"); status != http.StatusConflict || b.text("#r-Name mark") != "Now: Pay by gold" ||
		eval[string](b, "document.querySelector('#f-Name').value + document.querySelector('#f-Estimate').value") != "Pay by cash8" {
		t.Fatalf("%d: %s", status, b.html())
	}
	if b.submit("main form"); b.text("h1") != "Pay by cash" {
		t.Errorf("%s", b.html())
	}
	test := s.send(object{"AssetType": "Test", "Name": "Card is taken", "Parent": story})[0]
	s.send(object{"from": story, "update": object{"Name": "Pay"}}, object{"AssetType": "Story", "Name": "Pay", "Scope": "Scope:0"})
	b.open(assetPage(test) + "&tab=edit")
	b.fill("#f-Name", "Gold is taken")
	if status := b.submit("main form"); status != http.StatusOK || b.text("h1") != "Gold is taken" {
		t.Errorf("beside a relation whose name two items have: %d %s", status, b.text("main"))
	}
	b.open(assetPage(test) + "&tab=edit")
	b.fill("[name=comment]", "why")
	if status := b.submit("main form"); status != http.StatusBadRequest || !strings.Contains(b.text(".refused"), "You changed nothing") ||
		eval[string](b, "document.querySelector('[name=comment]').value") != "why" {
		t.Errorf("a comment alone: %d %s", status, b.text("main"))
	}
	b.open(assetPage(story) + "&tab=edit")
	eval[string](b, "document.querySelector('#f-TaggedWith').value = 'mine'")
	s.send(object{"from": story, "update": object{"TaggedWith": "other"}})
	if status := b.submit("main form"); status != http.StatusConflict || b.text("#r-TaggedWith mark") != "Now: other" {
		t.Errorf("tags of both: %d %s", status, b.text("main"))
	}
	b.submit("main form")
	var tags [][]struct{ TaggedWith []string }
	if s.post("/query.v1", object{"from": story, "select": []string{"TaggedWith"}}, &tags); len(tags[0][0].TaggedWith) != 2 {
		t.Errorf("tags of both: %v", tags)
	}
	b.expect("404")
	for _, oid := range []string{"Story:987654", "Nothing:1", "NULL"} {
		if status := b.open(assetPage(oid)); status != http.StatusNotFound || b.text("[role=alert]") != "This page does not exist." {
			t.Errorf("%s: %d %s", oid, status, b.text("main"))
		}
	}
}

// TestAssetRights checks that the answer for a hidden asset is the same as for an asset that does not
// exist. A member who may only read an asset must see no forms.
func TestAssetRights(t *testing.T) {
	t.Parallel()
	browser(t)
	s := serve(t, "sqlite")
	created := s.send(object{"AssetType": "Scope", "Name": "Web shop", "Parent": "Scope:0", "BeginDate": "2026-01-01", "Workitems": []object{{"AssetType": "Story", "Name": "Pay by card"}}},
		object{"AssetType": "Member", "Name": "Eve", "Nickname": "Eve", "Username": "eve", "Password": password, "DefaultRole": "Role.Name'Observer"})
	scope, story, eve := created[0], created[1], created[2]
	b := newTab(t, s.origin)
	b.expect("404")
	b.expect("403")
	signIn(b, "eve", password)
	if status := b.open(assetPage(story)); status != http.StatusNotFound || b.text("[role=alert]") != "This page does not exist." || strings.Contains(b.text("main"), "Pay") {
		t.Errorf("hidden: %d %s", status, b.html())
	}
	s.send(object{"from": scope, "execute": object{"op": "AssignMemberWithRole", "args": object{"Member": eve, "Role": "Role.Name'Observer"}}})
	for deadline := time.Now().Add(patience); b.open(assetPage(story)) != http.StatusOK; {
		if time.Now().After(deadline) {
			t.Fatal("a role does not become effective")
		}
	}
	if b.exists("button[name=op]") || b.exists("[type=file]") || b.exists(".tabs li:nth-child(4)") {
		t.Errorf("an observer may not change it: %s", b.text("main"))
	}
	if status := b.open(assetPage(story) + "&tab=edit"); status != http.StatusForbidden {
		t.Errorf("the form of an observer: %d", status)
	}
}

// attacks is text that would run script or request another host if a page showed it without escaping.
const attacks = scripts + `<a href="javascript:alert(5)" id=js>x</a><img src="https://example.com/tracker.png" alt="tracker">` +
	`<svg><style><a id="</style><img src=1 onerror=alert(6)>">` + `<iframe src="https://example.com/"></iframe><form action="https://example.com/"><button>x</button></form></main></div>` +
	`<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(7)&gt;">`

// TestAssetScripts checks that a script stored in any field of an asset does not run on the pages of the
// asset. The pages must send no request to another host.
func TestAssetScripts(t *testing.T) {
	t.Parallel()
	browser(t)
	s := serve(t, "sqlite")
	status := s.send(object{"AssetType": "StoryStatus", "Name": attacks})[0]
	values := object{"Status": status, "TaggedWith": []string{"tag <script>alert(8)</script>"}, "Owners": []object{{"AssetType": "Member", "Name": attacks, "Nickname": attacks, "DefaultRole": "Role:4"}}}
	for _, name := range []string{"Name", "Description", "Benefits", "Reference", "RequestedBy", "LastVersion", "GeneratedFromIdea"} {
		values[name] = attacks
	}
	story := s.send(object{
		"AssetType": "Story", "Scope": object{"AssetType": "Scope", "Name": attacks, "Parent": "Scope:0", "BeginDate": "2026-01-01"}, "Name": "x",
		"Children": []object{{"AssetType": "Task", "Name": attacks}},
		"Links":    []object{{"AssetType": "Link", "Name": attacks, "URL": "javascript:alert(9)"}},
	})
	oid := ""
	for _, one := range story {
		if strings.HasPrefix(one, "Story:") {
			oid = one
		}
	}
	s.send(object{"from": oid, "update": values})
	s.send(object{"AssetType": "Attachment", "Name": attacks, "Filename": `"><img src=x onerror=alert(10)>`, "ContentType": "image/png", "Content": "PHN2Zz4=", "Asset": oid})
	b := newTab(t, s.origin)
	signIn(b, "admin", password)
	for _, tab := range []string{"", "&tab=history", "&tab=activity", "&tab=edit"} {
		if status := b.open(assetPage(oid) + tab); status != http.StatusOK {
			t.Errorf("%s: %d", tab, status)
		}
		if eval[int](b, `document.querySelectorAll('main svg, main iframe, main style, main a[href^="javascript"], main [onerror], main #js').length`) > 0 {
			t.Errorf("%s: %s", tab, b.html())
		}
	}
	b.open(assetPage(oid) + "&tab=history")
	b.submit("main form")
	b.screenshot("asset-difference")
	if !b.exists(".source ins") || eval[int](b, "document.querySelectorAll('main').length") != 1 {
		t.Error(b.html())
	}
}

// firstPicture loads the first picture and returns its width in pixels.
const firstPicture = `(async () => { const i = document.querySelector('.pictures img'); i.loading = 'eager'; await i.decode(); return i.naturalWidth })()`

// TestAssetAttachment attaches a picture, and the page must show it. A file that is too large must be
// refused with a reason.
func TestAssetAttachment(t *testing.T) {
	t.Parallel()
	browser(t)
	s := serve(t, "sqlite")
	story := s.send(object{"AssetType": "Story", "Name": "Pay by card", "Scope": "Scope:0"})[0]
	dir := t.TempDir()
	small, large := filepath.Join(dir, "dot.svg.png"), filepath.Join(dir, "large.bin")
	png := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\xdacd\xf8\xcfP\x0f\x00\x03\x86\x01\x80Z4}k\x00\x00\x00\x00IEND\xaeB`\x82"
	for name, content := range map[string]string{small: png, large: strings.Repeat("x", 3<<20)} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := newTab(t, s.origin)
	b.expect("413")
	signIn(b, "admin", password)
	attach := func(name string) int {
		b.open(assetPage(story))
		b.click("details:has([type=file]) summary")
		if !strings.Contains(b.text("details:has([type=file])"), "up to 25 MiB") {
			t.Error("nothing says how larger files are attached")
		}
		send(b, "choose a file", chromedp.SetUploadFiles(chromedp.CSS("[type=file]"), []string{name}))
		return b.submit("details:has([type=file]) form")
	}
	if status := attach(small); status != http.StatusOK || eval[int](b, firstPicture) != 1 {
		t.Errorf("%d: %s", status, b.html())
	}
	b.open(assetPage(story))
	b.click("details:has([type=file]) summary")
	send(b, "choose a file", chromedp.SetUploadFiles(chromedp.CSS("[type=file]"), []string{large}))
	if eval[bool](b, `document.querySelector("[type=file]").checkValidity()`) {
		t.Error("a file that is too large may be sent")
	}
	b.withoutScript()
	if status := attach(large); status != http.StatusRequestEntityTooLarge || !strings.Contains(b.text("[role=alert]"), "at most 2 MiB") {
		t.Errorf("%d: %s", status, b.html())
	}
	if b.follow("main p a"); b.path() != assetPage(story) {
		t.Errorf("the way back leads to %s", b.path())
	}
}

// TestAssetThatWasDeleted sends the form of an asset after another user has deleted the asset. The page
// must say that nothing was saved, and show the input.
func TestAssetThatWasDeleted(t *testing.T) {
	t.Parallel()
	s := serve(t, "sqlite")
	story := s.send(object{"AssetType": "Story", "Name": "Pay by card", "Scope": "Scope:0"})[0]
	b := newTab(t, s.origin)
	b.expect("409")
	signIn(b, "admin", password)
	b.open(assetPage(story) + "&tab=edit")
	s.send(object{"from": story, "execute": "Delete"})
	b.fill("#f-Reference", "what took an hour to write")
	b.fill("#f-Name", "Pay by cash")
	if status := b.submit("main form"); status != http.StatusConflict || !strings.Contains(b.text(".refused"), "has deleted") ||
		!strings.Contains(b.text("main dl"), "what took an hour to write") || strings.Contains(b.text("main dl"), "Scope:0") {
		t.Errorf("%d: %s", status, b.text("main"))
	}
	accessible(t, b)
	b.screenshot("asset-deleted-meanwhile")
	b.follow("main p a")
	if b.text(".refused") != "It is deleted." {
		t.Errorf("%s: %s", b.path(), b.text("main"))
	}
}

// TestAssetCustomRelation checks a custom multi-value relation without a reverse name. The page must show
// the relation if it has a value.
func TestAssetCustomRelation(t *testing.T) {
	t.Parallel()
	s := serve(t, "sqlite")
	s.send(object{
		"AssetType": "AttributeDefinition", "Name": "Custom_Helpers", "Asset": "Story", "AttributeType": "Relation", "RelatedAssetType": "Member", "IsMultivalue": true, "DisplayName": "Helpers",
	})
	story := s.send(object{"AssetType": "Story", "Name": "Pay by card", "Scope": "Scope:0", "Custom_Helpers": "Member:20"})[0]
	b := newTab(t, s.origin)
	signIn(b, "admin", password)
	b.open(assetPage(story))
	if !strings.Contains(b.text(".asset"), "Helpers\nAdministrator") {
		t.Errorf("the helpers are missing: %s", b.text(".asset"))
	}
	b.open(assetPage(story) + "&tab=edit")
	b.click("details:has([name='f.Custom_Helpers']) summary")
	if !eval[bool](b, "document.querySelector(\"[name='f.Custom_Helpers']\").checked") {
		t.Error("who helps is not ticked")
	}
	b.click("[name='f.Custom_Helpers']")
	b.submit("main form")
	if strings.Contains(b.text(".asset"), "Helpers") {
		t.Errorf("who helps no more is still there: %s", b.text(".asset"))
	}
}

// TestRolesByName checks that pages show the name of a role, not the tag by which the name is translated.
func TestRolesByName(t *testing.T) {
	t.Parallel()
	s := serve(t, "sqlite")
	b := newTab(t, s.origin)
	signIn(b, "admin", password)
	for _, path := range []string{assetPage("Member:20"), assetPage("Member:20") + "&tab=edit", assetPage("Role:1")} {
		b.open(path)
		if text := b.text("main"); !strings.Contains(text, "System Admin") || strings.Contains(text, "Role.Name'") {
			t.Errorf("%s: %s", path, text)
		}
	}
}

// TestAssetsOfADeletedProject checks that an asset in a deleted project is not found. A form that was
// opened before the deletion must change nothing and must not report success.
func TestAssetsOfADeletedProject(t *testing.T) {
	t.Parallel()
	s := serve(t, "sqlite")
	made := s.send(object{"AssetType": "Scope", "Name": "Shop", "Parent": "Scope:0", "BeginDate": "2026-01-01", "Workitems": []object{{"AssetType": "Story", "Name": "x"}}})
	b := newTab(t, s.origin)
	b.withoutScript()
	signIn(b, "admin", password)
	b.open(assetPage(made[1]) + "&tab=edit")
	s.send(object{"from": made[0], "execute": "Delete"})
	b.expect("404")
	b.fill("[name='f.Name']", "typed")
	if status := b.loads(func() { b.press(kb.Enter) }); status != http.StatusNotFound || strings.Contains(b.text("main"), "Saved") || !strings.Contains(b.text("main dl"), "typed") {
		t.Errorf("the form is answered with %d: %s", status, b.text("main"))
	}
	if status := b.open(assetPage(made[1])); status != http.StatusNotFound {
		t.Errorf("the story is shown: %s", b.text("main"))
	}
	if status := b.open(assetPage(made[0])); status != http.StatusOK || !strings.Contains(b.text("main"), "It is deleted") {
		t.Errorf("the project itself: %d %s", status, b.text("main"))
	}
}

// TestActivityOfLongTexts checks the activity pages of an asset and of its project after a change that is
// too large to show. The pages must work and mention the change.
func TestActivityOfLongTexts(t *testing.T) {
	t.Parallel()
	s := serve(t, "sqlite")
	b := newTab(t, s.origin)
	signIn(b, "admin", password)
	story := cut(s.send(object{"AssetType": "Story", "Name": "Long", "Scope": "Scope:0", "Description": strings.Repeat("x", 9<<20)})[0])
	s.send(object{"from": story, "update": object{"Description": strings.Repeat("y", 9<<20)}})
	for _, oid := range []string{story, "Scope:0"} {
		if status := b.open("/alds/assetdetail.v1?tab=activity&oid=" + oid); status != http.StatusOK || !strings.Contains(b.text("main"), "too large for this page") {
			t.Errorf("%s: %d\n%.1000s", oid, status, b.text("main"))
		}
	}
}
