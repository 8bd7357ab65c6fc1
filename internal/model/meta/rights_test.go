package meta

import (
	"strings"
	"testing"
)

// Every type with assets has a kind. If its assets have no SecurityScope, the rights say to which
// projects, asset or member they belong, or that they belong to no project.
func TestRightsAreComplete(t *testing.T) {
	m := Default()
	for _, typ := range m.Types {
		if typ.Abstract {
			continue
		}
		r := typ.Rights
		if r.Kind == nil {
			t.Fatalf("%s is of no kind", typ.Name)
		}
		if typ.Secured == (Secured{}) && r.Lies == nil && r.On == nil && !r.Kind.System && !r.Kind.Own {
			t.Errorf("%s lies in no project, and nothing says whose it is", typ.Name)
		}
	}
	if len(m.Rights.Order) != 13 {
		t.Errorf("%d roles", len(m.Rights.Order))
	}
}

func TestRightsOfRoles(t *testing.T) {
	m := Default()
	const teamMember, customer, tester, requestor, observer = 4, 7, 6, 11, 8
	for _, c := range []struct {
		typ, name string
		verb      Verb
		may, not  RoleSet
	}{
		{"Story", "", ToCreate, RolesOf(SystemAdmin, ProjectAdmin, teamMember, customer), RolesOf(NoAccess, Inheritor, MemberAdmin, tester, requestor, observer)},
		{"Story", "Estimate", ToChange, RolesOf(teamMember), RolesOf(customer)},
		{"Story", "Name", ToChange, RolesOf(teamMember, customer), RolesOf(tester, observer)},
		{"Request", "", ToDelete, RolesOf(requestor), RolesOf(observer)},
		{"Scope", "Members", ToChange, RolesOf(ProjectAdmin, MemberAdmin), RolesOf(teamMember)},
		{"Scope", "Name", ToChange, RolesOf(ProjectAdmin), RolesOf(MemberAdmin, teamMember)},
		{"StoryStatus", "", ToCreate, RolesOf(SystemAdmin), RolesOf(ProjectAdmin, MemberAdmin)},
		{"Expression", "", ToCreate, RolesOf(observer, MemberAdmin), RolesOf(Inheritor, NoAccess)},
		{"Expression", "", ToModerate, RolesOf(SystemAdmin, ProjectAdmin), RolesOf(observer, teamMember)},
	} {
		typ, _ := m.Type(c.typ)
		if got := typ.KindOf(c.name).Roles(c.verb, c.name); got&c.may != c.may || got&c.not != 0 {
			t.Errorf("%s.%s %s: %b", c.typ, c.name, c.verb, got)
		}
	}
	if r := m.Rights; !r.Above(SystemAdmin, ProjectAdmin) || !r.Above(MemberAdmin, teamMember) || r.Above(observer, observer) {
		t.Error("the order of roles")
	}
}

func TestBrokenRightsAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"kinds: {planning: {types: [Stori]}}":                                          "no type Stori",
		"kinds: {planning: {types: [Story]}, work: {types: [Workitem]}}":               "Story is of two kinds",
		"kinds: {planning: {attributes: [Story.Nothing]}}":                             "no attribute or operation Story.Nothing",
		"kinds: {planning: {types: [Story]}}\nrights: {Nobody: {planning: all}}":       "no role Nobody",
		"roles: {Tester: 6}\nkinds: {a: {types: [Story]}}\nrights: {Tester: {b: all}}": "no kind b",
		"roles: {Tester: 6}\nkinds: {a: {types: [Story]}}\nrights: {Tester: {a: see}}": "no verb see",
		"lie: {Timebox: Calendar}":                                                     "no relation Timebox.Calendar",
		"self: [Shoes]":                                                                "no attribute Member.Shoes",
		"kinds: {a: {types: [Story]}}":                                                 "Defect is of no kind",
		"roles: {Tester: 99}":                                                          "below 16",
		"kinds: {a: {types: [Story]}}\nlie: {Schedule: Timeboxes, Timebox: Schedule}":  "Timebox.Schedule leads to no project",
		"kinds: {a: {types: [Story]}}\nlie: {BuildRun: Status}":                        "BuildRun.Status leads to no project",
		"kinds: {a: {types: [Story]}}\non: {Link: Asset, Story: Super, Epic: Super}":   "Story.Super leads to assets whose rights depend on other assets",
	} {
		s, err := parse(modelFile)
		if err == nil {
			err = s.parseRights([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err = s.load(Custom{}, &loader{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
