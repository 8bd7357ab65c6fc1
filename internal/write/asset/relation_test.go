package asset_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/operate/check"
	"github.com/alds-dev/alds/internal/write/asset"
)

const current = ` AND until_moment = 9223372036854775807`

func TestToOneLinkIsReplaced(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		s := w.must(create("Story", "@s", "Name", "S", "Scope", "Scope:0", "Risk", "Low"))[0]
		w.must(update(s, "Risk", "High"), update(s, "Risk", "High"), update(s, "Risk", ""))
		w.expect("141 1001 1002\n143 1002 1003\n", `SELECT to_id, since_moment, until_moment FROM asset_link WHERE relation = 3 ORDER BY since_moment`)
		w.consistent()
	})
}

func TestManyToManyFromEitherSide(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		got := w.must(create("Story", "@s", "Name", "S", "Scope", "Scope:0"), create("Story", "@t", "Name", "T", "Scope", "Scope:0"))
		w.must(update("Member:20", "OwnedWorkitems", got[0], "OwnedWorkitems", got[1]))
		w.expect("1001 20\n1002 20\n", `SELECT from_id, to_id FROM asset_link WHERE relation = 1`+current+` ORDER BY from_id`)
		w.expect("20\n", `SELECT id FROM asset_version WHERE moment = 1003`) // the stories get no version
		w.must(update(got[0], "-Owners", "Member:20"), update("Member:20", "-OwnedWorkitems", got[1]))
		w.expect("0\n", `SELECT COUNT(*) FROM asset_link WHERE relation = 1`+current)
		w.must(update(got[0], "Dependants", got[1]))
		w.expect("1002 1001\n", `SELECT from_id, to_id FROM asset_link WHERE relation = 5`)
		w.consistent()
	})
}

func TestOtherSideOfAToOneLink(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		got := w.must(create("Schedule", "@a", "Name", "A"), create("Schedule", "@b", "Name", "B"),
			create("Scope", "@p", "Name", "P", "Parent", "Scope:0", "BeginDate", "2026-01-01", "Schedule", "@a"))
		w.must(update(got[1], "ScheduledScopes", got[2]))
		w.expect("1003 1002\n", `SELECT from_id, to_id FROM asset_link WHERE relation = 29 AND from_id > 1000`+current)
		w.must(update(got[1], "-ScheduledScopes", got[2]))
		w.expect("0\n", `SELECT COUNT(*) FROM asset_link WHERE relation = 29 AND from_id > 1000`+current)
		if got := w.fails(update("Scope:0", "-Children", got[2])); got != "Violation'Required'Scope.Parent" {
			t.Error(got)
		}
		w.consistent()
	})
}

func TestContextDefaults(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		within := func(c *asset.Command, token string) *asset.Command { c.Context = ref(token); return c }
		got := w.must(
			create("Scope", "@p", "Name", "P", "Parent", "Scope:0", "BeginDate", "2026-01-01"),
			create("Epic", "@e", "Name", "E", "Scope", "@p"),
			create("Request", "@r", "Name", "Wish", "Scope", "@p", "Description", "Please", "RequestedBy", "Ann"),
			create("Schedule", "@s", "Name", "Sprints"),
		)
		made := w.must(
			within(create("Story", "@1", "Name", "Below"), got[1]),
			within(create("Epic", "@2", "Name", "Below"), got[1]),
			within(create("Story", "@3"), got[2]),
			within(create("Timebox", "@4", "Name", "1", "BeginDate", "2026-01-01", "EndDate", "2026-01-15"), got[3]),
			within(create("Scope", "@5", "Name", "Sub", "BeginDate", "2026-01-01"), got[0]),
			within(create("Defect", "@6", "Name", "In", "Super", "Epic:1002"), got[0]),
		)
		made = append(made, w.must(within(create("Task", "@7", "Name", "T"), made[0]), within(create("Story", "@8", "Name", "Beside"), made[0]))...)
		w.expect(`
Below 1001 1002 -
Below 1001 1002 -
Wish 1001 - -
1 - - -
Sub 1009 - 1001
In 1001 1002 -
T 1001 - 1005
Beside 1001 - -
`, `SELECT name, scope_id, super_id, parent_id FROM asset WHERE id > 1004 ORDER BY id`)
		w.expect("Please 1003\n", `SELECT description, (SELECT from_id FROM asset_link l WHERE l.to_id = a.id AND relation = 57) FROM asset a WHERE id = ?`, id(made[2]))
		w.consistent()
	})
}

func TestMembersAndRoles(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		got := w.must(
			create("Scope", "@p", "Name", "P", "Parent", "Scope:0", "BeginDate", "2026-01-01"),
			create("Member", "@m", "Name", "M", "Nickname", "m", "DefaultRole", "Tester"),
		)
		roles := `SELECT member_id, role_id, is_owner FROM scope_member WHERE scope_id = 1001` + current + ` ORDER BY member_id`
		w.must(update(got[0], "Members", got[1]))
		w.expect("20 -999 1\n1002 -994 0\n", roles)
		w.must(operate(got[0], "AssignMemberWithRole", "Member", got[1], "Role", "Role:8", "IsOwner", "true"))
		w.expect("20 -999 1\n1002 -992 1\n", roles)
		w.must(update(got[1], "-Scopes", got[0]))
		w.expect("20 -999 1\n", roles)
		w.must(operate(got[1], "AssignToScopeWithRole", "Scope", "P", "Role", "Role.Name'Developer"))
		w.expect("20 -999 1\n1002 -995 0\n", roles)
		w.expect("1002\n20\n", `SELECT to_id FROM asset_link WHERE relation = 34 AND from_id = 1001`+current+` ORDER BY to_id DESC`)
		if got := w.fails(operate(got[0], "AssignMemberWithRole", "Member", "Nobody", "Role", "Role:8")); got != "Resolution'Unresolved'Scope.Member'Member" {
			t.Error(got)
		}
		w.consistent()
	})
}

// A command may refer to an asset by a name that an earlier command of the request has set.
func TestNameMadeInTheSameRequest(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		w.must(
			create("Scope", "@p", "Name", "Shop", "Parent", "Scope:0", "BeginDate", "2026-01-01"),
			create("Story", "@s", "Name", "S", "Scope", "shop"),
			update("Scope:1001", "Name", "Store"),
			create("Story", "@t", "Name", "T", "Scope", "Store"),
		)
		w.expect("2\n", `SELECT COUNT(*) FROM asset WHERE scope_id = 1001 AND type = 4`)
		w.must(create("Scope", "@q", "Name", "STORE", "Parent", "Scope:0", "BeginDate", "2026-01-01"))
		if got := w.fails(create("Story", "@u", "Name", "U", "Scope", "störe")); got != "Resolution'Unresolved'Story.Scope'Scope" {
			t.Errorf("a name that two have: %q", got)
		}
		w.consistent()
	})
}

// A create may set Children before Scope. The children still get the project of their new parent.
func TestExistingChildrenOfANewParent(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		w.must(
			create("Scope", "@p", "Name", "P", "Parent", "Scope:0", "BeginDate", "2026-01-01"),
			create("Story", "@s", "Name", "S", "Scope", "Scope:0"),
			create("Task", "@t", "Name", "T", "Parent", "@s"),
			create("Story", "@n", "Children", "@t", "Name", "N", "Scope", "@p"),
		)
		w.expect("1001 1004\n", `SELECT scope_id, parent_id FROM asset WHERE id = 1003`)
		w.consistent()
	})
}

// Assigning a role that the member already has changes nothing, even if an earlier command of the
// same request has assigned it.
func TestSameRoleAgain(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		got := w.must(create("Member", "@m", "Name", "M", "Nickname", "m", "DefaultRole", "Role:4"))
		give := func(role, owner string) *asset.Command {
			return operate(got[0], "AssignToScopeWithRole", "Scope", "Scope:0", "Role", role, "IsOwner", owner)
		}
		versions := `SELECT COUNT(*) FROM asset_version WHERE id = 1001`
		w.must(give("Observer", "true"), give("Role:8", "true"))
		w.expect("2\n", versions)
		w.must(give("Role:8", "true"))
		w.expect("2\n", versions)
		w.must(give("Role:8", "false"), give("Tester", "false"))
		w.expect("4\n", versions)
		w.expect("1\n", `SELECT COUNT(*) FROM scope_member WHERE member_id = 1001 AND until_moment = 9223372036854775807`)
	})
}

// Some relations refer only to some subtypes of their related type, or also to other types. The
// checks of package check accept links to exactly these types.
func TestTargetsOfRelations(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		got := w.must(
			create("Expression", "@x", "Content", "x"),
			create("Attachment", "@a", "Name", "A", "Asset", "@x"),
			create("Story", "@s", "Name", "S", "Scope", "Scope:0"),
			create("Epic", "@e", "Name", "E", "Scope", "Scope:0", "Dependencies", "@s"),
			create("Theme", "@t", "Name", "T", "Scope", "Scope:0"),
		)
		if message := w.fails(update(got[3], "Dependants", got[4])); message != "Violation'Invalid'Epic.Dependants" {
			t.Error(message)
		}
		w.must(update(got[1], "Asset", got[2]), operate(got[0], "Delete"))
		w.sound()
		if _, err := w.d.Exec(t.Context(), `UPDATE asset_link SET to_id = 1005 WHERE relation = 5`); err != nil {
			t.Fatal(err)
		}
		found, err := check.Run(t.Context(), w.d, model)
		if err != nil || !slices.ContainsFunc(found, func(f check.Finding) bool {
			return strings.Contains(f.Text, "a Theme, which the attribute does not allow")
		}) {
			t.Error(found, err)
		}
	})
}
