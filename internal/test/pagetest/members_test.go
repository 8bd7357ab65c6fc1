package pagetest

import (
	"net/http"
	"strings"
	"testing"
)

// people creates members, and two projects of which one is below the other. Mallory has a role in the upper
// project.
func (s *site) people() (shop, part, mallory, mia string) {
	s.t.Helper()
	made := s.send(
		object{"@mallory": object{"AssetType": "Member", "Name": scripts, "Nickname": scripts, "Email": scripts, "Username": "mallory", "Password": password, "DefaultRole": "Role:4"}},
		object{"AssetType": "Member", "Name": "Mia", "Nickname": "Mia", "Username": "mia", "Password": password, "DefaultRole": "Role:12"},
		object{"@shop": object{"AssetType": "Scope", "Name": "Shop " + scripts, "Parent": "Scope:0", "BeginDate": "2026-01-01"}},
		object{"AssetType": "Scope", "Name": "Part", "Parent": "@shop", "BeginDate": "2026-01-01"},
		object{"from": "@shop", "execute": object{"op": "AssignMemberWithRole", "args": object{"Member": "@mallory", "Role": "Role:4"}}},
	)
	return made[2], made[3], made[0], made[1]
}

// TestMemberPages checks that the pages about members show texts of users unchanged, on every screen.
func TestMemberPages(t *testing.T) {
	t.Parallel()
	s := serve(t, "sqlite")
	shop, part, mallory, _ := s.people()
	b := newTab(t, s.origin)
	signIn(b, "admin", password)
	for _, p := range []shown{
		{name: "members", path: "/alds/ui/members"},
		{name: "member", path: "/alds/ui/members/" + mallory},
		{name: "member-new", path: "/alds/ui/members/new"},
		{name: "roles", path: "/alds/ui/members/roles?project=" + shop},
		{name: "roles-edit", path: "/alds/ui/members/roles?project=" + shop + "&member=" + mallory + "&in=" + part},
		{name: "audit", path: "/alds/ui/members/audit"},
	} {
		inspect(b, p, widths)
	}
}

// TestMembers creates a member, whose password must be shown once. It gives the member a role in the matrix
// and on the page of the member, and disables the login of the member.
func TestMembers(t *testing.T) {
	t.Parallel()
	for _, dialect := range dialects() {
		t.Run(dialect, func(t *testing.T) { members(t, serve(t, dialect)) })
	}
}

func members(t *testing.T, s *site) {
	t.Helper()
	shop, part, mallory, mia := s.people()
	b := newTab(t, s.origin)
	signIn(b, "admin", password)
	b.withoutScript()
	b.open("/alds/ui/members/new")
	b.fill("[name=name]", "Nora "+scripts)
	b.fill("[name=username]", "nora")
	b.fill("[name=project]", part)
	b.submit("main form")
	secret := b.text("#password")
	if at := b.text("dd a"); at != s.base+"/ui/sign-in" {
		t.Errorf("the link is %s", at)
	}
	nora := newTab(t, s.origin)
	signIn(nora, "nora", secret)
	nora.expect("(Forbidden)")
	nora.expect("(Not Found)")
	for path, status := range map[string]int{"/alds/ui/members": 200, "/alds/ui/members/" + mallory: 200, "/alds/ui/members/" + mia: 404, "/alds/ui/members/audit": 403, "/alds/ui/webhooks": 403, "/alds/ui/webhooks/new": 403, "/alds/ui/members/new": 403, "/alds/ui/members/roles": 200} {
		if got := nora.open(path); got != status || nora.exists("main a[href*=audit]") || nora.exists("main form[method=post]") {
			t.Errorf("somebody opens %s with %d: %s", path, got, nora.text("main"))
		}
	}
	b.open("/alds/ui/members/audit?kind=Denied")
	if text := b.text("main"); strings.Contains(text, "api/audit") || strings.Contains(text, "api/tokens") {
		t.Errorf("the pages have asked for what is refused: %s", text)
	}
	b.expect("(Bad Request)")
	if status := b.open("/alds/ui/members/audit?since=soon"); status != http.StatusBadRequest || eval[string](b, `document.querySelector("[name=since]").value`) != "soon" {
		t.Errorf("a wrong time is answered with %d: %s", status, b.text("main"))
	}

	matrix := "/alds/ui/members/roles?project=" + shop
	b.open(matrix)
	if row := b.text("tbody tr:first-child"); !strings.Contains(b.text("table"), "(Team Member)") {
		t.Errorf("a role of the project above is not shown: %s", row)
	}
	b.open(matrix + "&member=" + mallory + "&in=" + part)
	eval[bool](b, `(document.querySelector("#edit select").value = "Role:8") == ""`)
	if status := b.submit("#edit form"); status != http.StatusOK || !strings.Contains(b.text("table"), "Observer") {
		t.Errorf("after %d the matrix is %s", status, b.text("table"))
	}
	b.open(matrix + "&member=" + mallory + "&in=" + part)
	eval[bool](b, `(document.querySelector("#edit select").value = "") == ""`)
	if b.submit("#edit form"); strings.Contains(b.text("table"), "Observer") {
		t.Errorf("the role is still there: %s", b.text("table"))
	}

	for _, path := range []string{"/alds/ui/members/Member:20", assetPage("Member:20")} {
		if b.open(path); b.exists("form[action$='/inactivate'], [name=op][value=Inactivate]") || !strings.Contains(b.text("main"), "Administrator") {
			t.Errorf("%s offers to make oneself inactive", path)
		}
	}
	at := "/alds/ui/members/" + mallory
	for _, act := range [][2]string{{"disable", "login disabled"}, {"enable", "active"}, {"inactivate", "inactive"}, {"reactivate", "active"}} {
		b.open(at)
		if b.submit("form[action$='/" + act[0] + "']"); b.text("dl dd") != act[1] {
			t.Errorf("after %s: %s", act[0], b.text("dl dd"))
		}
	}
	b.open("/alds/ui/members/audit?kind=RoleGranted&member=" + mallory)
	if n := eval[int](b, `document.querySelectorAll("tbody tr").length`); n != 2 {
		t.Errorf("%d roles were granted: %s", n, b.text("main"))
	}
}

// TestNamesInFieldsOfMembers checks that the fields of the pages audit and roles accept names. If several
// assets have the name, the page must offer a choice. A refused form must keep its input.
func TestNamesInFieldsOfMembers(t *testing.T) {
	t.Parallel()
	s := serve(t, "sqlite")
	s.people()
	twins := s.send(
		object{"AssetType": "Scope", "Name": "Twin", "Parent": "Scope:0", "BeginDate": "2026-01-01"},
		object{"AssetType": "Scope", "Name": "Twin", "Parent": "Scope:0", "BeginDate": "2026-01-01"},
	)
	b := newTab(t, s.origin)
	signIn(b, "admin", password)
	b.expect("(Bad Request)")
	for _, c := range []struct{ page, field, name, oneHas string }{
		{"/alds/ui/members/audit", "actor", "admin", "TokenCreated"}, // a SignIn event is written only later
		{"/alds/ui/members/audit", "project", "Shop " + scripts, "RoleGranted"},
		{"/alds/ui/members/roles", "project", "Part", "Mia"},
	} {
		send := func(text string) int {
			b.open(c.page + "?who=all")
			b.fill("search [name="+c.field+"]", text)
			return b.submit("search form")
		}
		kept := func() string { return eval[string](b, `document.querySelector("search [name=`+c.field+`]").value`) }
		if status := send(c.name); status != http.StatusOK || !strings.Contains(b.text("table"), c.oneHas) || kept() != c.name {
			t.Errorf("%s of %q: %d: %s", c.field, c.name, status, b.text("main"))
		}
		if status := send("Nobody"); status != http.StatusBadRequest || kept() != "Nobody" || !strings.Contains(b.text("[role=alert]"), "called “Nobody”") {
			t.Errorf("%s of nobody: %d: %s", c.field, status, b.text("main"))
		}
		if c.field != "project" {
			continue
		}
		if status := send("Twin"); status != http.StatusBadRequest || kept() != "Twin" || !strings.Contains(b.text("[role=alert]"), "Several") {
			t.Errorf("one of two: %d: %s", status, b.text("main"))
		}
		if status := b.follow("[role=alert] ~ ul li:nth-child(2) a"); status != http.StatusOK || kept() != cut(twins[1]) {
			t.Errorf("the second leads to %s, %d: %s", b.path(), status, b.text("main"))
		}
	}
}

// TestMemberAdministrator checks that the page explains why a change by a member administrator was refused.
func TestMemberAdministrator(t *testing.T) {
	t.Parallel()
	s := serve(t, "sqlite")
	s.people()
	b := newTab(t, s.origin)
	signIn(b, "mia", password)
	if got := eval[string](b, `[...document.querySelectorAll("header .far a")].map(a => a.textContent).join(", ")`); got != "Console, Model, Access tokens, Members" {
		t.Errorf("the navigation has %s", got)
	}
	b.open("/alds/ui/members/Member:20")
	b.expect("(Bad Request)")
	b.submit("form[action$='/disable']")
	if text := b.text("[role=alert]"); !strings.Contains(text, "Your role does not allow it") {
		t.Errorf("it is refused with %q", text)
	}
	b.open("/alds/ui/members?state=active&role=Role:12")
	if n := eval[int](b, `document.querySelectorAll("tbody tr").length`); n != 1 {
		t.Errorf("%d members: %s", n, b.text("main"))
	}
}
