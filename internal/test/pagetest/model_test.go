package pagetest

import (
	"net/http"
	"strings"
	"testing"
)

// TestModelSearch checks the search in the model. It must show results while the user types and change the
// URL. Each result must link to its place on the page of its type.
func TestModelSearch(t *testing.T) {
	t.Parallel()
	browser(t)
	s := serve(t, "sqlite")
	b := newTab(t, s.origin)
	signIn(b, "admin", password)
	b.open("/alds/ui/model")
	b.waitFor(".tree")
	b.fill("#q", "primaryworkitem.estimate")
	b.waitAt("/alds/ui/model?q=primaryworkitem.estimate")
	if b.waitFor("#results"); b.exists(".tree") {
		t.Error("beside the results there is the tree")
	}
	b.follow("#found tbody a")
	if b.path() != "/alds/ui/model/PrimaryWorkitem#Estimate" || !strings.Contains(b.text("tr:target"), "Numeric") {
		t.Errorf("the first result is at %s", b.path())
	}
	b.loads(func() { eval[any](b, "history.back()") })
	if b.waitFor("#results"); !b.exists("nav") {
		t.Error("who goes back sees a part of the page")
	}
	b.open("/alds/ui/model/Story")
	b.fill("#find", "todo")
	b.waitAt("/alds/ui/model/Story?find=todo")
	if b.waitGone("#Estimate"); !b.exists("#ToDo") {
		t.Error("the attribute is not found")
	}
}

// TestModelWithoutScript checks that the search in the model works without script, only with forms and
// links.
func TestModelWithoutScript(t *testing.T) {
	t.Parallel()
	browser(t)
	s := serve(t, "sqlite")
	b := newTab(t, s.origin)
	signIn(b, "admin", password)
	b.withoutScript()
	b.open("/alds/meta.v1?xsl=api.xsl")
	if here := eval[string](b, `document.querySelector("header [aria-current]").textContent`); here != "Model" {
		t.Errorf("the page is marked as %s", here)
	}
	b.fill("#q", "Backlog Item")
	b.submit("main form[role=search]")
	b.follow("#found tbody a")
	if b.path() != "/alds/ui/model/Story" {
		t.Errorf("a Backlog Item is at %s", b.path())
	}
	b.follow(`#Owners td a`)
	if b.path() != "/alds/ui/model/Member" {
		t.Errorf("Owners lead to %s", b.path())
	}
	b.open("/alds/meta.v1/Story?xsl=api.xsl")
	if got := b.text("#QuickSignup"); !strings.Contains(got, "Future, Active") {
		t.Errorf("QuickSignup: %s", got)
	}
	b.open("/alds/ui/model/Nothing")
	b.expect("404")
}

// TestModelCustom creates a list and an attribute that refers to it, retires both, restores them and
// deletes them for good. Scripts stored in their names must not run.
func TestModelCustom(t *testing.T) {
	t.Parallel()
	browser(t)
	s := serve(t, "sqlite")
	b := newTab(t, s.origin)
	signIn(b, "admin", password)
	b.open("/alds/ui/model/custom?type=Story")
	const list, attribute = `form[action$="/list"]`, `form[action$="/attribute"]`
	b.fill(list+" [name=name]", "Custom_OriginType")
	b.fill(list+" [name=displayName]", scripts)
	eval[any](b, `document.querySelector('textarea').value = `+quote("Customer\n"+scripts))
	b.submit(list)
	listPage := strings.Split(b.path(), "?")[0]
	if b.follow("dl a"); !strings.Contains(b.text("section"), scripts) {
		t.Errorf("the values of the list: %s", b.text("section"))
	}
	b.expect("400")
	const values = `form:has([name=values])`
	for _, again := range []string{"customer", "New\nnew"} {
		eval[any](b, `document.querySelector('textarea').value = `+quote(again))
		status := b.submit(values)
		if kept := eval[string](b, `document.querySelector('textarea').value`); status != http.StatusBadRequest || kept != again || !strings.Contains(b.text("[role=alert]"), "there") {
			t.Errorf("%q is answered with %d: %s; the form has %q", again, status, b.text("#values ~ p"), kept)
		}
	}
	b.open("/alds/ui/model/custom?type=Story")
	b.fill(attribute+" [name=name]", "Custom_Origin")
	b.fill(attribute+" [name=displayName]", scripts)
	eval[any](b, `document.querySelector('[name=kind]').value = 'Relation'`)
	if status := b.submit(attribute); status != http.StatusBadRequest || !strings.Contains(b.text("[role=alert]"), "Leads to the type or list: it is required") {
		t.Errorf("without a type it is %d", status)
	}
	b.fill(attribute+" [name=related]", "Custom_OriginType")
	b.submit(attribute)
	attributePage := strings.Split(b.path(), "?")[0]
	s.send(object{"AssetType": "Story", "Name": "From afar", "Scope": "Scope:0", "Custom_Origin": "Customer"})
	for _, path := range []string{"/alds/ui/model/Story", "/alds/ui/model?q=Custom_Or", "/alds/ui/model/custom", "/alds/ui/model/Custom_OriginType"} {
		if b.open(path); !strings.Contains(b.text("main"), scripts) {
			t.Errorf("%s does not show the name that people read", path)
		}
	}
	for _, path := range []string{"/alds/ui/model/custom", attributePage, listPage, "/alds/ui/model/Custom_OriginType"} {
		inspect(b, shown{name: "model" + strings.ReplaceAll(strings.TrimPrefix(path, "/alds/ui/model"), "/", "-"), path: path}, widths[:1])
	}
	b.size(1280, 960)
	work := func(page, do string) {
		t.Helper()
		b.open(page)
		b.follow(`button[value="` + do + `"]`)
	}
	work(attributePage, "retire")
	if b.open("/alds/ui/model/Story"); b.exists("#Custom_Origin") {
		t.Error("what is retired is in the model")
	}
	work(attributePage, "bring")
	work(listPage, "retire")
	if b.open("/alds/ui/model/custom"); !strings.Contains(b.text("#attributes ~ div tbody"), "as its list is retired") {
		t.Errorf("an attribute of a retired list: %s", b.text("main"))
	}
	work(listPage, "bring")
	b.size(1280, 300)
	work(listPage, "goes")
	if !eval[bool](b, `(() => { const r = document.querySelector("[role=alert]").getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight })()`) {
		t.Error("the answer is not on the screen")
	}
	if got := b.text("[role=alert]"); !strings.Contains(got, "Story.Custom_Origin leads to the list") {
		t.Error(got)
	}
	for _, step := range []struct{ page, goes, number string }{
		{attributePage, "1 asset has a value", "1"}, {listPage, "the list has 2 values", "2"},
	} {
		if work(step.page, "goes"); !strings.Contains(b.text("main"), "What would go: "+step.goes) {
			t.Error(b.text("main"))
		}
		b.fill("#assets", "7")
		b.submit("form:has(#assets)")
		b.fill("#assets", step.number)
		b.submit("form:has(#assets)")
		if !strings.Contains(b.text(".keys"), "deleted with its data") {
			t.Errorf("%s is not deleted", step.page)
		}
	}
}

// TestModelForEverybody checks that other members can read the model but see no forms. The service must
// refuse what these forms would send.
func TestModelForEverybody(t *testing.T) {
	t.Parallel()
	browser(t)
	s := serve(t, "sqlite")
	s.send(object{"AssetType": "Member", "Name": "Ada", "Nickname": "Ada", "Username": "ada", "Password": password, "DefaultRole": "Role:4"},
		object{"AssetType": "AttributeDefinition", "Name": "Custom_Weight", "Asset": "Story", "AttributeType": "Numeric"})
	b := newTab(t, s.origin)
	signIn(b, "ada", password)
	b.open("/alds/ui/model/custom")
	b.follow("main td a, tbody th a")
	for _, path := range []string{"/alds/ui/model/custom", b.path(), "/alds/ui/model/StoryStatus"} {
		if b.open(path); b.exists("main form[method=post]") {
			t.Errorf("%s has a form", path)
		}
	}
	b.expect("400")
	eval[any](b, `(() => { const f = document.createElement('form'); f.method = 'post'; f.id = 'own'; f.action = '/alds/ui/model/attribute';
		f.innerHTML = '<input name=name value=Custom_Other><input name=type value=Story><input name=kind value=Text><button type=submit>Send</button>';
		f.append(document.querySelector('[name=csrf]').cloneNode()); document.querySelector('main').append(f) })()`)
	if status := b.submit("#own"); status != http.StatusBadRequest || b.exists("main form[method=post]") {
		t.Errorf("the form is answered with %d", status)
	}
}
