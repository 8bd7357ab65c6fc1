package check_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/folding"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/operate/check"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/bulk"
	"github.com/alds-dev/alds/internal/write/seed"
)

func TestMain(m *testing.M) { testdb.Main(m) }

var model = meta.Default()

// logins stores usernames without passwords.
type logins struct{ asset.Credentials }

// Seal drops the password.
func (logins) Seal(context.Context, string) (string, error) { return "", nil }

func (logins) Set(ctx context.Context, tx *db.Tx, member int64, username, _ *string) error {
	if username == nil {
		return nil
	}
	_, err := tx.Exec(ctx, `INSERT INTO credential (member_id, username, folded, version, disabled) VALUES (?, ?, ?, 1, 0)`, member, *username, folding.Of(*username))
	return err
}

// history contains requests. They create rows for every check, on assets with the ids 1001 to 1012.
var history = []string{
	`[{"@p": {"AssetType": "Scope", "Name": "P", "Parent": "Scope:0", "BeginDate": "2026-01-01"}},
	  {"AssetType": "Scope", "Name": "Q", "Parent": "@p", "BeginDate": "2026-01-01"},
	  {"AssetType": "Epic", "Name": "E", "Scope": "@p", "Subs": [
	   {"AssetType": "Epic", "Name": "Sub", "Subs": [
	    {"AssetType": "Story", "Name": "S", "Description": "` + strings.Repeat("A long text. ", 20) + `", "Reference": "r", "Estimate": 1, "Owners": "Member:20", "TaggedWith": ["a", "b"], "Children": [{"AssetType": "Task", "Name": "T"}]}]}]},
	  {"AssetType": "Member", "Name": "M", "Nickname": "m", "Username": "m", "DefaultRole": "Role:4"},
	  {"AssetType": "Note", "Name": "N", "Content": "ÄNDERUNG", "Asset": "Story:1005"},
	  {"AssetType": "Schedule", "Name": "H"},
	  {"AssetType": "Timebox", "Name": "B", "Schedule": "Schedule:1009", "State": "State:100", "BeginDate": "2026-01-01", "EndDate": "2026-01-15"},
	  {"AssetType": "Story", "Name": "S2", "Scope": "Scope:1002", "Dependencies": "Story:1005"},
	  {"AssetType": "Image", "ContentType": "image/png", "Content": "YQ=="}]`,
	`[{"from": "Scope:1002", "update": {"Parent": "Scope:0", "Members": "Member:1007"}},
	  {"from": "Story:1005", "update": {"Name": "S!", "Owners": {"remove": "Member:20"}, "TaggedWith": {"remove": "a"}}},
	  {"from": "Story:1005", "update": {"Scope": "Scope:1002", "Owners": ["Member:20"], "TaggedWith": "a", "Customer": "Member:20"}},
	  {"from": "Story:1005", "update": {"Customer": "Member:1007"}},
	  {"from": "Timebox:1010", "execute": "Activate"},
	  {"from": "Scope:1002", "update": {"Parent": "Scope:1001"}},
	  {"from": "Scope:1002", "execute": {"op": "AssignMemberWithRole", "args": {"Member": "Member:1007", "Role": "Role:8"}}},
	  {"from": "Member:1007", "update": {"Scopes": {"remove": "Scope:1002"}}}]`,
	`{"from": "Scope:1001", "execute": "Delete"}`,
	`[{"oid": "Scope:1002", "update": {"Parent": "Scope:0"}}, {"oid": "Scope:1001", "update": {"Reference": "r"}}]`,
	`[{"oid": "Scope:1001", "execute": "Undelete"}, {"oid": "Scope:1002", "update": {"Parent": "Scope:1001"}}, {"oid": "Scope:1001", "execute": "Delete"}]`,
	`[{"oid": "Scope:1001", "execute": "Undelete"}, {"oid": "Scope:1002", "execute": "Delete"}]`,
}

func build(t *testing.T, d *db.DB) {
	t.Helper()
	if err := seed.Run(t.Context(), d, model); err != nil {
		t.Fatal(err)
	}
	e := bulk.New(asset.New(d, model, logins{}, nil), find.New(d, model))
	for _, body := range history {
		got, err := e.Run(t.Context(), auth.System, bulk.Request{Body: []byte(body)})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(got), `"commandFailures":{"commands":[],`) {
			t.Fatalf("%s", got)
		}
	}
}

// damage is a statement that damages a database. want is the beginning of a finding that the
// checker must report. It consists of the check, the table and the id.
type damage struct {
	why, sql, want string
	mended         bool // true: a repair fixes the damage
}

// all returns the damages of two lists: of the variable corruptions and of the variable more.
func all() []damage { return slices.Concat(corruptions, more) }

// corruptions are damages of the rows that history creates.
var corruptions = []damage{
	{"an asset that differs from its current version", `UPDATE asset SET name = 's' WHERE id = 1005`, "current version: asset 1005", true},
	{"an asset that differs only in case", `UPDATE asset SET attrs = '{"Reference":"R"}' WHERE id = 1005`, "current version: asset 1005", true},
	{"an asset without a version", `DELETE FROM asset_version WHERE id = 1011`, "current version: asset 1011", true},
	{"an asset whose current version has ended", `UPDATE asset_version SET until_moment = moment + 1 WHERE id = 1011`, "current version: asset 1011", true},
	{"versions without their asset", `DELETE FROM asset WHERE id = 1011`, "versions: asset_version 1011", true},
	{"a gap between versions", `UPDATE asset_version SET until_moment = until_moment - 1 WHERE id = 1005 AND moment = created_moment`, "versions: asset_version 1005", true},
	{"a missing version between two others", `DELETE FROM asset_version WHERE id = 1005 AND moment > created_moment AND until_moment < 1100`, "versions: asset_version 1005", false},
	{"a first version missing", `DELETE FROM asset_version WHERE id = 1005 AND moment = created_moment`, "versions: asset_version 1005", false},
	{"a last version that ended", `UPDATE asset_version SET until_moment = 5000 WHERE id = 1011`, "versions: asset_version 1011", false},
	{"a creator that changed", `UPDATE asset_version SET created_by = 1007 WHERE id = 1005 AND moment > created_moment`, "versions: asset_version 1005", false},
	{"a type that changed", `UPDATE asset_version SET type = 5 WHERE id = 1005 AND moment > created_moment`, "versions: asset_version 1005", false},
	{"a type that does not exist", `UPDATE asset_version SET type = 999 WHERE id = 1011`, "versions: asset_version 1011", false},
	{"a state out of range", `UPDATE asset_version SET state = 256 WHERE id = 1011`, "versions: asset_version 1011", false},
	{"changes in the wrong order", `UPDATE asset_version SET changed_at = 1 WHERE id = 1005 AND moment > created_moment`, "versions: asset_version 1005", false},
	{"a moment used twice", `UPDATE asset_version SET moment = (SELECT moment FROM (SELECT moment FROM asset_version WHERE id = 1011) x) WHERE id = 1009`, "moments: asset_version 1009", false},
	{"a version without an audit", `UPDATE asset_version SET audit_id = 999 WHERE id = 1011`, "audit of a version: asset_version 1011", false},
	{"a moment outside of its audit", `UPDATE asset_version SET audit_id = 2 WHERE id = 1011`, "audit of a version: asset_version 1011", false},
	{"an author who is not the audit's", `UPDATE asset_version SET changed_by = 1007 WHERE id = 1011`, "audit of a version: asset_version 1011", false},
	{"an audit whose last moment no version has", `UPDATE audit SET last_moment = last_moment + 100 WHERE id = 2`, "ends of an audit: audit 2", false},
	{"a fan-out after the end of the audit", `UPDATE audit SET fan_moment = 99999 WHERE id = 1`, "ends of an audit: audit 1", false},
	{"a column that the type does not have", `UPDATE asset_version SET end_date = 1 WHERE id = 1011`, "attributes: asset_version 1011", false},
	{"a required name missing", `UPDATE asset_version SET name = NULL WHERE id = 1011`, "attributes: asset_version 1011", false},
	{"a required name empty", `UPDATE asset_version SET name = '' WHERE id = 1011`, "attributes: asset_version 1011", false},
	{"a required attribute in the JSON missing", `UPDATE asset_version SET attrs = '{"Personal":false}' WHERE id = 1008`, "attributes: asset_version 1008", false},
	{"a value in a column that no attribute uses", `UPDATE asset_version SET custom_text_7 = 'x' WHERE id = 1011`, "attributes: asset_version 1011", false},
	{"a custom column that differs from its current version", `UPDATE asset SET custom_number_8 = 1 WHERE id = 1011`, "current version: asset 1011", true},
	{"a key that no attribute has", `UPDATE asset_version SET attrs = '{"Nonsense":"x"}' WHERE id = 1011`, "attributes: asset_version 1011", false},
	{"a value of the wrong JSON type", `UPDATE asset_version SET attrs = '{"Reference":1}' WHERE id = 1011`, "attributes: asset_version 1011", false},
	{"a null in the JSON", `UPDATE asset_version SET attrs = '{"Reference":null}' WHERE id = 1011`, "attributes: asset_version 1011", false},
	{"a missing content", `DELETE FROM blob_content`, "contents: asset_version 1012", false},
	{"a content of another size", `UPDATE blob_content SET size = 2`, "contents: asset 1012", true},
	{"a content that may be removed", `UPDATE blob_content SET kept = 0`, "contents: asset_version 1012", true},
	{"a reference to nothing", `UPDATE asset_version SET team_id = 4711 WHERE id = 1011`, "references: asset_version 1011", false},
	{"a reference to a wrong type", `UPDATE asset_version SET super_id = 1005 WHERE id = 1011`, "references: asset_version 1011", false},
	{"a scope that is not a project", `UPDATE asset_version SET scope_id = 20 WHERE id = 1011`, "references: asset_version 1011", false},
	{"a link to nothing", `UPDATE asset_link SET to_id = 4711 WHERE from_id = 1011 AND relation = 5`, "links: asset_link 1011", false},
	{"a link to a wrong type", `UPDATE asset_link SET to_id = 20 WHERE from_id = 1011 AND relation = 5`, "links: asset_link 1011", false},
	{"a link from nothing", `UPDATE asset_link SET from_id = 4711 WHERE from_id = 1011 AND relation = 5`, "links: asset_link 4711", false},
	{"a link with another type than its asset", `UPDATE asset_link SET from_type = 5 WHERE from_id = 1005 AND relation = 1`, "links: asset_link 1005", true},
	{"a relation that the type does not have", `UPDATE asset_link SET relation = 18 WHERE from_id = 1011 AND relation = 5`, "links: asset_link 1011", false},
	{"two values of a to-one relation", `INSERT INTO asset_link VALUES (4, 4, 1005, 1011, 1010, 9223372036854775807)`, "links: asset_link 1005", false},
	{"a link that exists twice", `INSERT INTO asset_link (relation, from_type, from_id, to_id, since_moment, until_moment)` +
		` SELECT relation, from_type, from_id, to_id, since_moment + 1, until_moment FROM asset_link` +
		` WHERE from_id = 1005 AND relation = 1 AND until_moment = 9223372036854775807`, "links: asset_link 1005", true},
	{"a link that ended before it began", `UPDATE asset_link SET until_moment = since_moment WHERE from_id = 1011`, "links: asset_link 1011", false},
	{"a version that does not count its link", `UPDATE asset_version SET linked = 0 WHERE id = 1011`, "number of links: asset_version 1011", true},
	{"a required relation without a value", `DELETE FROM asset_link WHERE from_id = 1008 AND relation = 81`, "required links: asset 1008", false},
	{"a tag of an asset that does not exist", `UPDATE asset_value SET from_id = 4711`, "values: asset_value 4711", false},
	{"a tag of an attribute that does not exist", `UPDATE asset_value SET attribute = 9`, "values: asset_value 1005", false},
	{"a tag that exists twice", `UPDATE asset_value SET until_moment = 9223372036854775807`, "values: asset_value 1005", false},
	{"a tag that begins at a moment without a version", `UPDATE asset_value SET since_moment = since_moment + 1 WHERE value = 'b'`, "values: asset_value 1005", false},
	{"a tag with a wrong folded form", `UPDATE asset_value SET folded = 'c' WHERE value = 'b'`, "values: asset_value 1005", true},
	{"a folded form that is missing", `UPDATE asset_version SET folded = NULL WHERE id = 1008`, "folded texts: asset_version 1008", true},
	{"a folded form of another text", `UPDATE asset_version SET folded = '{"Content":"ä"}' WHERE id = 1008`, "folded texts: asset_version 1008", true},
	{"a folded form that a text does not need", `UPDATE asset_version SET folded = '{"name":"s2"}' WHERE id = 1011`, "folded texts: asset_version 1011", true},
	{"a comment with a wrong folded form", `UPDATE audit SET folded = 'x' WHERE id = 1`, "folded comments: audit 1", true},
	{"a circle of two epics", `UPDATE asset SET super_id = 1004 WHERE id = 1003`, "cycles: asset 1003", true},
	{"an epic that is its own parent", `UPDATE asset SET super_id = 1003 WHERE id = 1003`, "cycles: asset 1003", true},
	{"a missing row of the project tree", `DELETE FROM scope_closure WHERE ancestor_id = 0 AND descendant_id = 1001`, "project tree: scope_closure 1001", true},
	{"an additional row of the project tree", `INSERT INTO scope_closure VALUES (1002, 1001, 1001, 9223372036854775807, 1)`, "project tree: scope_closure 1001", true},
	{"a wrong depth in the project tree", `UPDATE scope_closure SET depth = 7 WHERE ancestor_id = 0 AND descendant_id = 1001`, "project tree: scope_closure 1001", true},
	{"a wrong span of the past in the project tree", `UPDATE scope_closure SET until_moment = until_moment + 1 WHERE ancestor_id = 1001 AND descendant_id = 1002 AND until_moment < 9999`, "project tree: scope_closure 1002", true},
	{"a member without a role", `DELETE FROM scope_member WHERE scope_id = 1001`, "memberships: scope_member 1001", false},
	{"a role without a membership", `UPDATE scope_member SET until_moment = 9223372036854775807 WHERE scope_id = 1002 AND role_id = -992`, "memberships: scope_member 1002", false},
	{"a role that is not a role", `UPDATE scope_member SET role_id = 20 WHERE scope_id = 1001`, "memberships: scope_member 1001", false},
	{"a task in another project than its story", `UPDATE asset SET scope_id = 0 WHERE id = 1006`, "followers: asset 1006", true},
	{"a note in another project than its asset", `UPDATE asset SET scope_id = 0 WHERE id = 1008`, "followers: asset 1008", true},
	{"a task in another team than its story", `UPDATE asset SET team_id = 1 WHERE id = 1006`, "followers: asset 1006", true},
	{"a project that is wrongly hidden", `INSERT INTO scope_hidden VALUES (1001, 1001, 1001, 9223372036854775807)`, "hidden projects: scope_hidden 1001", true},
	{"a project hidden twice", `INSERT INTO scope_hidden SELECT scope_id, by_id, since_moment + 1, until_moment FROM scope_hidden WHERE until_moment > 99999`, "hidden projects: scope_hidden 1002", true},
	{"a deleted project not hidden", `DELETE FROM scope_hidden WHERE until_moment > 99999`, "hidden projects: scope_hidden 1002", true},
	{"a wrong span of the past of a hidden project", `UPDATE scope_hidden SET until_moment = until_moment + 1 WHERE by_id = 1001 AND scope_id = 1002`, "hidden projects: scope_hidden 1002", true},
	{"a project in another project's scope", `UPDATE asset SET scope_id = 0 WHERE id = 1001`, "own scope: asset 1001", true},
	{"a state that does not match the status", `UPDATE asset_version SET state = 128 WHERE id = 1010 AND until_moment > 9999`, "states: asset 1010", false},
	{"a Number twice", `UPDATE asset SET number = 'S-01001' WHERE id = 1011`, "numbers: asset 1005", true},
	{"a Number of another type", `UPDATE asset SET number = 'D-01001' WHERE id = 1011`, "numbers: asset 1011", true},
	{"no Number", `UPDATE asset SET number = NULL WHERE id = 1011`, "numbers: asset 1011", true},
	{"a Number above the sequence", `UPDATE asset SET number = 'S-01999' WHERE id = 1011`, "numbers: sequence 1002", true},
	{"a rank twice", `UPDATE asset SET order_key = 1 WHERE id IN (1005, 1011)`, "ranks: asset 1011", true},
	{"no rank", `UPDATE asset SET order_key = NULL WHERE id = 1011`, "ranks: asset 1011", true},
	{"a rank beyond 32 bits", `UPDATE asset SET order_key = 2147483648 WHERE id = 1011`, "ranks: asset 1011", true},
	{"a rank below the first", `UPDATE asset SET order_key = 0 WHERE id = 1011`, "ranks: asset 1011", true},
	{"a rank of the past beyond 32 bits", `UPDATE asset_version SET order_key = 2147483648 WHERE id = 1011`, "ranks: asset_version 1011", false},
	{"a rank that would be assigned again", `UPDATE sequence SET value = 32 WHERE name = 'rank:PrimaryWorkitem'`, "ranks: sequence 32", true},
	{"ids that would be assigned again", `UPDATE sequence SET value = 1010 WHERE name = 'id'`, "sequences: sequence 1010", true},
	{"audits that would be assigned again", `UPDATE sequence SET value = 1 WHERE name = 'audit'`, "sequences: sequence 1", true},
	{"moments that would be assigned again", `UPDATE sequence SET value = 1005 WHERE name = 'moment'`, "sequences: sequence 1005", true},
	{"a position of the feed that would be assigned again", `UPDATE sequence SET value = 1 WHERE name = 'feed'`, "sequences: sequence 1", true},
	{"a generation above its sequence", `UPDATE sequence SET value = 1 WHERE name = 'webhook'`, "sequences: sequence 1", true},
	{"stamps that go backwards", `INSERT INTO moment_stamp VALUES (999999, 1)`, "moment stamps: moment_stamp 999999", true},
	{"moments without a stamp", `DELETE FROM moment_stamp`, "moment stamps: asset_version ", true},
	{"a login under another name", `UPDATE credential SET username = 'other' WHERE member_id = 1007`, "logins: credential 1007", false},
	{"a login with a wrong folded form", `UPDATE credential SET folded = 'other' WHERE member_id = 1007`, "logins: credential 1007", true},
	{"a login of a member who does not exist", `UPDATE credential SET member_id = 4711 WHERE member_id = 1007`, "logins: credential 4711", false},
}

// ruleOf returns the name of the check that finds a damage.
func (c damage) ruleOf() string {
	name, _, _ := strings.Cut(c.want, ":")
	return name
}

// TestCorruptions runs each damage in a transaction, expects the checks to find the damage, and
// rolls back. In a database without damage it expects no findings. With -short, it runs only the
// check that finds the damage.
func TestCorruptions(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		fill(t, d)
		for _, f := range must(check.Run(t.Context(), d, model)) {
			t.Errorf("in a sound database: %s", f)
		}
		for _, c := range all() {
			rule := ""
			if testing.Short() {
				rule = c.ruleOf()
			}
			found := damaged(t, d, rule, c.sql)
			if !strings.Contains(found, c.want) {
				t.Errorf("%s: want %s, got:\n%s", c.why, c.want, found)
			}
			if at := strings.Index(found, c.want); at >= 0 && !c.mended && strings.Contains(strings.SplitN(found[at:], "\n", 2)[0], "`api repair`") {
				t.Errorf("%s: the finding says that a repair fixes it:\n%s", c.why, found)
			}
		}
	})
}

// TestPrunedMemberships removes the links of memberships. History before the horizon may have been
// removed. So it expects no finding for a membership that ended before the horizon, and a finding
// for a membership that ended later or continues.
func TestPrunedMemberships(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		fill(t, d)
		const ended = `DELETE FROM asset_link WHERE relation = 34 AND until_moment < 99999`
		for _, c := range []struct {
			sql   string
			moved string // SQL expression for the new horizon
			found bool
		}{
			{ended, `(SELECT MAX(until_moment) FROM scope_member WHERE until_moment < 99999)`, false},
			{ended, `(SELECT MIN(until_moment) - 1 FROM scope_member)`, true},
			{`DELETE FROM asset_link WHERE relation = 34 AND from_id = 1001`, `(SELECT MAX(value) FROM (SELECT value FROM sequence WHERE name = 'moment') x)`, true},
		} {
			err := d.Write(t.Context(), func(tx *db.Tx) error {
				if _, err := tx.Exec(t.Context(), `UPDATE sequence SET value = `+c.moved+` WHERE name = 'horizon'`); err != nil {
					return err
				}
				if done, err := tx.Exec(t.Context(), c.sql); err != nil {
					return err
				} else if n, _ := done.RowsAffected(); n == 0 {
					t.Errorf("%s changes nothing", c.sql)
				}
				found := must(check.RunIn(t.Context(), tx, model))
				is := func(f check.Finding) bool { return strings.HasPrefix(f.String(), "memberships: ") }
				if slices.ContainsFunc(found, is) != c.found {
					t.Errorf("%s, horizon %s: found: %v, want %v", c.sql, c.moved, !c.found, c.found)
				}
				return errUndo
			})
			if !errors.Is(err, errUndo) {
				t.Fatal(err)
			}
		}
	})
}

// TestALoginMadeAnew clears a Username and sets it again within a minute. Clearing the Username
// removes the password, so the check must not report a missing password.
func TestALoginMadeAnew(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		fill(t, d) // sets a password at 1000000 microseconds
		exec(t, d, `INSERT INTO audit_trail (at, id, kind, member_id, events, detail) VALUES (1000007, 2, 'LoginChanged', 1007, 1, '{"changed":["Username"]}')`)
		exec(t, d, `INSERT INTO audit_trail (at, id, kind, member_id, events, detail) VALUES (1000009, 3, 'LoginChanged', 1007, 1, '{"changed":["Username"]}')`)
		if found := damaged(t, d, "passwords", `UPDATE credential SET password_hash = NULL, version = 1000008 WHERE member_id = 1007`); found != "" {
			t.Error(found)
		}
	})
}

// TestCustomAttributes expects no findings in a database with custom attributes. Retired attributes
// keep their values. An asset that is older than a required attribute needs no value for it.
func TestCustomAttributes(t *testing.T) {
	extended := func(required, retired bool) *meta.Model {
		m, err := model.Extend(meta.Custom{Attributes: []meta.CustomAttribute{
			{ID: 1, Type: "Story", Name: "Custom_Text", Kind: meta.Text, Code: 1, Required: required, Retired: retired},
			{ID: 2, Type: "Story", Name: "Custom_Plain", Kind: meta.Text, Required: required, Retired: retired},
			{ID: 3, Type: "Workitem", Name: "Custom_Number", Kind: meta.Numeric, Code: 3, Required: required, Retired: retired},
			{ID: 4, Type: "Story", Name: "Custom_Friends", Kind: meta.Relation, To: "Member", Many: true, Code: 10000, Retired: retired},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		build(t, d)
		m := extended(false, false)
		e := bulk.New(asset.New(d, m, logins{}, nil), find.New(d, m))
		body := `{"AssetType": "Story", "Name": "C", "Scope": "Scope:0", "Custom_Text": "Σ", "Custom_Plain": "É", "Custom_Number": 2, "Custom_Friends": "Member:20"}`
		if got, err := e.Run(t.Context(), auth.System, bulk.Request{Body: []byte(body)}); err != nil || !strings.Contains(string(got), `"commandFailures":{"commands":[],`) {
			t.Fatalf("%s %v", got, err)
		}
		for _, why := range []string{"in use", "required", "retired"} {
			for _, f := range must(check.Run(t.Context(), d, extended(why == "required", why == "retired"))) {
				t.Errorf("%s: %s", why, f)
			}
		}
		if found := must(check.Run(t.Context(), d, model)); len(found) == 0 {
			t.Error("values of attributes that do not exist are not found")
		}
	})
}

// TestBounded damages all versions with one statement, and expects MaxFindings findings of one
// check.
func TestBounded(t *testing.T) {
	d := testdb.SQLite(t)
	build(t, d)
	found := damaged(t, d, "", `UPDATE asset_version SET audit_id = 999`)
	if n := strings.Count(found, "audit of a version: "); n != check.MaxFindings {
		t.Errorf("%d findings of one check; want %d", n, check.MaxFindings)
	}
}

func must(found []check.Finding, err error) []check.Finding {
	if err != nil {
		panic(err)
	}
	return found
}

var errUndo = errors.New("undo")

// damaged runs statements in a transaction, returns the findings of one rule, and rolls back. If
// rule is empty, it returns the findings of all rules.
func damaged(t *testing.T, d *db.DB, rule string, statements ...string) string {
	t.Helper()
	var b strings.Builder
	err := d.Write(t.Context(), func(tx *db.Tx) error {
		b.Reset()
		for _, statement := range statements {
			r, err := tx.Exec(t.Context(), statement)
			if err != nil {
				return err
			}
			if n, _ := r.RowsAffected(); n == 0 {
				t.Errorf("%s changes nothing", statement)
			}
		}
		run := check.RunIn
		if rule != "" {
			run = func(ctx context.Context, tx *db.Tx, m *meta.Model) ([]check.Finding, error) {
				return check.RunRule(ctx, tx, m, rule)
			}
		}
		found, err := run(t.Context(), tx, model)
		if err != nil {
			return err
		}
		for _, f := range found {
			fmt.Fprintln(&b, f)
			if f.Do == "" {
				t.Errorf("the finding does not say what to do: %s", f)
			}
		}
		return errUndo
	})
	if !errors.Is(err, errUndo) {
		t.Fatalf("%q: %v", statements, err)
	}
	return b.String()
}

// TestALongTextIsReadOnce checks an asset with a hundred versions that share a text of 1 MB. The memory that
// a check allocates must not grow with the number of versions.
func TestALongTextIsReadOnce(t *testing.T) {
	d := testdb.SQLite(t)
	build(t, d)
	e := bulk.New(asset.New(d, model, logins{}, nil), find.New(d, model))
	changes := []string{`{"oid": "Scope:1001", "update": {"Description": "` + strings.Repeat("Ä long text. ", 80_000) + `"}}`}
	for n := range 100 {
		changes = append(changes, fmt.Sprintf(`{"oid": "Scope:1001", "update": {"Reference": "%d"}}`, n))
	}
	for _, change := range changes {
		got, err := e.Run(t.Context(), auth.System, bulk.Request{Body: []byte(change)})
		if err != nil || !strings.Contains(string(got), `"commandFailures":{"commands":[],`) {
			t.Fatalf("%.300s: %v", got, err)
		}
	}
	for _, rule := range []string{"attributes", "folded texts"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		found := damaged(t, d, rule)
		runtime.ReadMemStats(&after)
		if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; found != "" || mib > 60 {
			t.Errorf("the check %s allocates %d MiB, at most 60; it finds %s", rule, mib, found)
		}
	}
}

// TestManyLinksAreNotCounted expects that a repair stores the same number as a write. Otherwise the next
// check would find the repaired version again.
func TestManyLinksAreNotCounted(t *testing.T) {
	for n, want := range map[int64]int64{1: 2, 32766: 32767, 32767: 1, 1 << 20: 1} {
		if got := check.LinkedFor(n); got != want {
			t.Errorf("%d links: %d, want %d", n, got, want)
		}
	}
}
