package members

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/alds-dev/alds/internal/web/ui"
)

// TestCells checks that the nearest role counts: a role in the project, then in an ancestor,
// then a default role that applies everywhere.
func TestCells(t *testing.T) {
	scope := func(oid, parent string) matrixScope {
		s := matrixScope{Oid: oid, Name: oid}
		s.Parent.Oid = parent
		return s
	}
	root, shop, part := scope("Scope:0", "NULL"), scope("Scope:1", "Scope:0"), scope("Scope:2", "Scope:1")
	page := &matrixPage{Project: shop, Above: chainOf(shop, []matrixScope{shop, root})}
	has := func(project, role string, owner bool) heldRole {
		return heldRole{Owner: owner, Project: namedOid{Oid: project}, Role: namedOid{Name: role}}
	}
	for name, c := range map[string]struct {
		in   matrixScope
		held []heldRole
		role string // the default role
		want matrixCell
	}{
		"none":              {part, nil, "Role:4", matrixCell{Scope: part}},
		"its own":           {part, []heldRole{has("Scope:1", "Tester", false), has("Scope:2", "Lead", true)}, "Role:4", matrixCell{Scope: part, Role: "Lead", Owner: true}},
		"of the project":    {part, []heldRole{has("Scope:0", "Lead", true), has("Scope:1", "Tester", true)}, "Role:4", matrixCell{Scope: part, Role: "Tester", Inherited: true, From: "Scope:1"}},
		"of the root":       {shop, []heldRole{has("Scope:0", "Lead", true)}, "Role:4", matrixCell{Scope: shop, Role: "Lead", Inherited: true, From: "Scope:0"}},
		"of a part":         {shop, []heldRole{has("Scope:2", "Lead", false)}, "Role:4", matrixCell{Scope: shop}},
		"of the whole":      {shop, nil, ui.SystemAdmin, matrixCell{Scope: shop, Role: "System Admin", Inherited: true}},
		"nearer than whole": {shop, []heldRole{has("Scope:1", "Tester", false)}, ui.MemberAdmin, matrixCell{Scope: shop, Role: "Tester"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &person{RoleTag: "Role.Name'System Admin"}
			p.Role.Oid = c.role
			if d := cmp.Diff(c.want, cellFor(page, p, c.in, c.held)); d != "" {
				t.Errorf("want, got:\n%s", d)
			}
		})
	}
}

// TestChainEnds checks that chainOf ends if projects form a cycle, which should not happen.
func TestChainEnds(t *testing.T) {
	var one, other matrixScope
	one.Oid, one.Parent.Oid, other.Oid, other.Parent.Oid = "a", "b", "b", "a"
	if n := len(chainOf(one, []matrixScope{one, other})); n != matrixChain {
		t.Errorf("%d projects", n)
	}
}

func TestStateText(t *testing.T) {
	for want, p := range map[string]person{
		"active":         {State: "Active", Username: "a"},
		"has no login":   {State: "Active"},
		"login disabled": {State: "Active", Username: "a", Disabled: true},
		"inactive":       {State: "Closed", Username: "a"},
		"deleted":        {State: "Deleted"},
	} {
		if got := p.StateText(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAuditDetails(t *testing.T) {
	for text, want := range map[string]string{
		`{"kind": "SignIn", "actor": "Member:20", "count": 3, "scheme": "basic", "token": "t"}`: "scheme: basic; token: t",
		`{"kind": "LoginChanged", "changed": ["Username", "Password"]}`:                         "changed: Username, Password",
		`{"kind": "Imported", "assets": 12}`:                                                    "assets: 12",
		`{}`:                                                                                    "",
	} {
		var e auditEvent
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Fatal(err)
		}
		if got := e.Details(); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestMemberRefusal(t *testing.T) {
	for message, want := range map[string]string{
		"Violation'Required'Member.Nickname":                             "The short name is required",
		"Violation'NotUnique'Member.Username":                            "Username is taken already",
		"Violation'Required'Member.DefaultRole":                          "The role is required",
		"Denied'Member.Change":                                           "Your role does not allow it: Change",
		"Invalid OID token: Scope:9":                                     "Scope:9 is not there, or you do not see it",
		"Invalid Operation 'Member.Inactivate'":                          "Inactivate cannot be done here",
		"The request would leave no system administrator who can log in": "The request would leave no system administrator who can log in",
	} {
		if got := memberRefusal(message); got != want {
			t.Errorf("%s: %q, want %q", message, got, want)
		}
	}
}

func TestAuditRefusal(t *testing.T) {
	for message, want := range map[string]string{
		"Invalid actor: x (wanted: the Oid of a Member)": "Done by: “x” is not there, or has another form than the example.",
		"Invalid kind: Nope":                             "What: “Nope” is not there, or has another form than the example.",
		"Invalid after: x (wanted: the id of an event)":  "Invalid after: x (wanted: the id of an event)",
	} {
		if got := auditRefusal(message); got != want {
			t.Errorf("%s: %q, want %q", message, got, want)
		}
	}
}
