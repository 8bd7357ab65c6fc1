package asset_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/write/asset"
)

func TestCreateWritesRowVersionAndLinks(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		got := w.must(
			create("Scope", "@p", "Name", "Shop", "Parent", "Scope:0", "BeginDate", "2026-01-01"),
			create("Story", "@s", "Name", "Browse ", "Scope", "@p", "Owners", "Member:20", "Status", "In Progress", "Estimate", "3.5", "Reference", "a\r\nb\"\\"),
			create("Task", "@t", "Name", "Table", "Parent", "@s"),
		)
		if got[0] != "Scope:1001" || got[1] != "Story:1002" || got[2] != "Task:1003" {
			t.Fatal(got)
		}
		w.expect(`
1001 11 64 1001 - 1001 - -
1002 4 64 1002 S-01001 1001 134 3.5
1003 7 64 1003 TK-01001 1001 - -
`, `SELECT id, type, state, moment, number, scope_id, status_id, estimate FROM asset WHERE id > 1000 ORDER BY id`)
		w.expect(`
1001 1001 on 2
1002 1002 on 2
1003 1003 on 0
`, `SELECT id, moment, until_moment, linked FROM asset_version WHERE id > 1000 ORDER BY id`)
		w.expect("1 4 1002 20 1002 on\n34 11 1001 20 1001 on\n",
			`SELECT relation, from_type, from_id, to_id, since_moment, until_moment FROM asset_link WHERE from_id > 1000 ORDER BY relation`)
		w.expect("0 1001 1001 on 1\n1001 1001 1001 on 0\n",
			`SELECT ancestor_id, descendant_id, since_moment, until_moment, depth FROM scope_closure WHERE descendant_id = 1001 ORDER BY ancestor_id`)
		w.expect("1001 20 -999 1 1001 on\n", `SELECT scope_id, member_id, role_id, is_owner, since_moment, until_moment FROM scope_member WHERE scope_id = 1001`)
		w.expect("Browse |a\r\nb\"\\\n", `SELECT CONCAT(name, '|', `+w.d.Dialect.JSONText("attrs", "Reference")+`) FROM asset WHERE id = 1002`)
		w.expect("1001 1003 0 0\n", `SELECT first_moment, last_moment, generation, fan_state FROM audit WHERE id > 0`)
		w.expect("1003\n", `SELECT last_moment FROM moment_stamp`)
		w.expect("1\n", `SELECT COUNT(*) FROM asset a JOIN moment_stamp m ON m.at = a.changed_at AND a.created_at = a.changed_at WHERE a.id = 1002`)
		w.expect("1\n", `SELECT COUNT(*) FROM asset WHERE id = 1002 AND order_key = 16777216 + 32`)
	})
}

func TestUpdateClosesTheVersionBefore(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		s := w.must(create("Story", "@s", "Name", "A", "Scope", "Scope:0", "Owners", "Member:20"))[0]
		w.must(update(s, "Name", "B"), update(s, "Name", "C", "-Owners", "Member:20"), update(s, "Name", "C"))
		w.expect("A 1001 1002 2\nB 1002 1003 0\nC 1003 on 2\n",
			`SELECT name, moment, until_moment, linked FROM asset_version WHERE id = 1001 ORDER BY moment`)
		w.expect("C 1003 1001\n", `SELECT name, moment, created_moment FROM asset WHERE id = 1001`)
		w.expect("20 1001 1003\n", `SELECT to_id, since_moment, until_moment FROM asset_link WHERE from_id = 1001`)
		w.must(update(s, "Name", "C"))
		w.expect("1\n1\n1\n", `SELECT fan_state FROM audit WHERE first_moment = 0 OR id = 0 OR fan_state = 1 UNION ALL SELECT 1`)
	})
}

func TestFailingCommandFailsAlone(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		got := w.run(
			create("Epic", "@e", "Name", "E"),
			create("Story", "@s", "Name", "S", "Scope", "Scope:0", "Super", "@e"),
			create("Story", "@ok", "Name", "Fine", "Scope", "Scope:0", "Owners", "Member:20"),
			create("Story", "@x", "Name", "X", "Scope", "Scope:0", "Owners", "Member:20", "Estimate", "many"),
		)
		var lines []string
		for _, o := range got {
			if o.Err != nil {
				lines = append(lines, o.Err.Error())
			} else {
				lines = append(lines, "ok")
			}
		}
		want := "Violation'Required'Epic.Scope\nInvalid OID token: @e\nok\nViolation'Invalid'Story.Estimate"
		if all := strings.Join(lines, "\n"); all != want {
			t.Errorf("got\n%s\nwant\n%s", all, want)
		}
		w.expect("Fine 1001\n", `SELECT name, moment FROM asset WHERE id > 1000`)
		w.expect("1\n", `SELECT COUNT(*) FROM asset_link WHERE relation = 1`)
	})
}

func TestDependentsAreUpdated(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		got := w.must(
			create("Scope", "@a", "Name", "A", "Parent", "Scope:0", "BeginDate", "2026-01-01"),
			create("Scope", "@b", "Name", "B", "Parent", "Scope:0", "BeginDate", "2026-01-01"),
			create("Story", "@s", "Name", "S", "Scope", "@a"),
			create("Task", "@t", "Name", "T", "Parent", "@s"),
			create("Note", "@n", "Name", "N", "Content", "x", "Asset", "@t"),
		)
		scopes := `SELECT id, scope_id, (SELECT COUNT(*) FROM asset_version v WHERE v.id = a.id) FROM asset a WHERE id > 1002 ORDER BY id`
		w.expect("1003 1001 1\n1004 1001 1\n1005 1001 1\n", scopes)
		w.must(update(got[2], "Scope", "Scope:1002"))
		w.expect("1003 1002 2\n1004 1002 2\n1005 1002 2\n", scopes)
		w.must(update(got[2], "Name", "S2"))
		w.expect("1003 1002 3\n1004 1002 2\n1005 1002 2\n", scopes)
		w.must(update("Scope:1001", "Workitems", "Story:1003"))
		w.expect("1003 1001 4\n1004 1001 3\n1005 1001 3\n", scopes)
		w.expect("1\n", `SELECT COUNT(*) FROM asset_version WHERE id = 1001`)
		w.expect("-\n", `SELECT MAX(to_id) FROM asset_link WHERE relation = 82`)
	})
}

func TestTrees(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		w.must(
			create("Scope", "@a", "Name", "A", "Parent", "Scope:0", "BeginDate", "2026-01-01"),
			create("Scope", "@b", "Name", "B", "Parent", "@a", "BeginDate", "2026-01-01"),
			create("Scope", "@c", "Name", "C", "Parent", "@b", "BeginDate", "2026-01-01"),
			create("Scope", "@d", "Name", "D", "Parent", "Scope:0", "BeginDate", "2026-01-01"),
			create("Epic", "@e", "Name", "E", "Scope", "@a"),
			create("Epic", "@f", "Name", "F", "Scope", "@a", "Super", "@e"),
		)
		for what, c := range map[string]*asset.Command{
			"Violation'Invalid'Scope.Parent": update("Scope:1001", "Parent", "Scope:1003"),
			"Violation'Invalid'Epic.Super":   update("Epic:1005", "Super", "Epic:1006"),
		} {
			if got := w.fails(c); got != what {
				t.Errorf("got %q, want %q", got, what)
			}
		}
		if got := w.fails(update("Epic:1006", "Subs", "Epic:1005")); got != "Violation'Invalid'Epic.Super" {
			t.Error(got)
		}
		current := `SELECT ancestor_id, descendant_id, depth FROM scope_closure WHERE until_moment = 9223372036854775807 AND descendant_id IN (1002, 1003) ORDER BY descendant_id, depth`
		w.expect("1002 1002 0\n1001 1002 1\n0 1002 2\n1003 1003 0\n1002 1003 1\n1001 1003 2\n0 1003 3\n", current)
		w.must(update("Scope:1002", "Parent", "Scope:1004"))
		w.expect("1002 1002 0\n1004 1002 1\n0 1002 2\n1003 1003 0\n1002 1003 1\n1004 1003 2\n0 1003 3\n", current)
		w.expect("1001 1002\n1001 1003\n", `SELECT ancestor_id, descendant_id FROM scope_closure WHERE until_moment < 9223372036854775807 AND ancestor_id = 1001 ORDER BY 2`)
	})
}

func TestOperations(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		s := w.must(create("Story", "@s", "Name", "S", "Scope", "Scope:0"))[0]
		state := `SELECT state FROM asset WHERE id = 1001`
		for _, step := range []struct{ op, want string }{
			{"Inactivate", "128"}, {"Reactivate", "64"}, {"Delete", "255"}, {"Undelete", "64"}, {"Close", "128"},
		} {
			w.must(operate(s, step.op))
			w.expect(step.want+"\n", state)
		}
		if got := w.fails(operate(s, "Undelete")); got != "Invalid Operation 'Story.Undelete'" {
			t.Error(got)
		}
		if got := w.fails(operate(s, "Explode")); got != "Unknown Operation 'Story.Explode'" {
			t.Error(got)
		}
		if got := w.fails(operate(s, "Split")); got != "Invalid Operation 'Story.Split'" {
			t.Error(got)
		}
		q := w.must(
			create("Story", "@q", "Name", "Q", "Scope", "Scope:0", "ToDo", "3"),
			create("Task", "@t", "Name", "T", "Parent", "@q", "ToDo", "2"),
			create("Test", "@u", "Name", "U", "Parent", "@q"),
		)
		w.must(operate(q[2], "Delete"), operate(q[0], "QuickSignup"), operate(q[0], "QuickClose"))
		w.expect("128 0\n128 0\n255 -\n", `SELECT state, todo FROM asset WHERE id > 1001 ORDER BY id`)
		w.expect("20\n", `SELECT to_id FROM asset_link WHERE relation = 1`)
		got := w.must(
			create("Schedule", "@sch", "Name", "Sprints"),
			create("Timebox", "@tb", "Name", "1", "Schedule", "@sch", "BeginDate", "12/31/2019", "EndDate", "2020-01-14", "State", "Future"),
		)
		w.expect("0\n", `SELECT state FROM asset WHERE id = ?`, id(got[1]))
		w.must(operate(got[1], "Activate"))
		w.expect("64 101\n", `SELECT state, (SELECT to_id FROM asset_link WHERE relation = 39 AND from_id = a.id AND until_moment = 9223372036854775807) FROM asset a WHERE id = ?`, id(got[1]))
	})
}

func TestRefusals(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		w.must(create("Story", "@s", "Name", "S", "Scope", "Scope:0"), create("Member", "@m", "Name", "M", "Nickname", "m", "DefaultRole", "Observer", "Username", "m"))
		for want, c := range map[string]*asset.Command{
			"Violation'Invalid'Story.Scope":               create("Story", "@x", "Name", "x", "Scope", "Scope:99999"),
			"Resolution'Unresolved'Story.Scope'Scope":     create("Story", "@x", "Name", "x", "Scope", "No such"),
			"Resolution'Unresolved'Test.Parent'Workitem":  create("Test", "@x", "Name", "x", "Parent", "No such"),
			"Violation'Required'Story.Name":               update("Story:1001", "Name", ""),
			"Violation'ReadOnly'Story.Number":             update("Story:1001", "Number", "S-1"),
			"Unknown AttributeDefinition: Story.Nonsense": update("Story:1001", "Nonsense", "x"),
			"Violation'TooLong'Story.Name":                update("Story:1001", "Name", strings.Repeat("ä", 4001)),
			"Invalid OID token: Story:5555":               update("Story:5555", "Name", "x"),
			"Violation'Invalid'Scope.BeginDate":           create("Scope", "@x", "Name", "x", "Parent", "Scope:0", "BeginDate", "2026-02-30"),
			"Violation'NotUnique'Member.Username":         create("Member", "@x", "Name", "M2", "Nickname", "m2", "DefaultRole", "Role:8", "Username", "M"),
			"Violation'Required'TestSet.RegressionSuite":  create("TestSet", "@x", "Name", "x", "Scope", "Scope:0"),
			"Violation'Invalid'Story.Owners":              update("Story:1001", "Owners", "Story:1001"),
		} {
			if got := w.fails(c); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		w.expect("2\n", `SELECT COUNT(*) FROM asset WHERE id > 1000`)
	})
}

func TestDuplicateUsernameFailsOnlyItsCommand(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		member := func(alias, user string) *asset.Command {
			return create("Member", alias, "Name", user, "Nickname", user, "DefaultRole", "Role:8", "Username", user)
		}
		got := w.run(member("@a", "ann"), member("@b", "Ann"), member("@c", "cara"),
			create("Story", "@s", "Name", "S", "Scope", "Scope:0", "Owners", "@b"),
			create("Story", "@t", "Name", "T", "Scope", "Scope:0", "Owners", "@c"))
		var failed []int
		for i, o := range got {
			if o.Err != nil {
				failed = append(failed, i)
			}
		}
		if len(failed) != 2 || failed[0] != 1 || failed[1] != 3 {
			t.Errorf("failed %v: %v", failed, got)
		}
		w.expect("ann\ncara\n", `SELECT username FROM credential WHERE member_id > 1000 ORDER BY username`)
		w.expect("3\n", `SELECT COUNT(*) FROM asset WHERE id > 1000`)
	})
}

func TestTags(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		s := w.must(create("Story", "@s", "Name", "S", "Scope", "Scope:0", "TaggedWith", "UX"))[0]
		w.must(update(s, "TaggedWith", "ux"), update(s, "TaggedWith", "ux "), update(s, "-TaggedWith", "ux"))
		w.expect("ux  1002 on\nUX 1001 1003\n", `SELECT value, since_moment, until_moment FROM asset_value ORDER BY since_moment DESC`)
	})
}

func TestFailingRequestLeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		stop := errors.New("stop")
		err := w.e.Write(t.Context(), auth.System, asset.Request{ID: "a"}, func(s *asset.Session) error {
			if _, err := s.Run(context.WithoutCancel(t.Context()), []*asset.Command{create("Story", "@s", "Name", "S", "Scope", "Scope:0")}); err != nil {
				return err
			}
			return stop
		})
		if !errors.Is(err, stop) {
			t.Fatal(err)
		}
		w.expect("0\n", `SELECT COUNT(*) FROM asset WHERE id > 1000`)
		w.expect("1\n", `SELECT COUNT(*) FROM audit`)
		w.must(create("Story", "@s", "Name", "S", "Scope", "Scope:0"))
		w.expect("1\n", `SELECT COUNT(*) FROM asset WHERE id > 1000`)
	})
}

// Engines that share a database never use the same id for two assets, even if the request that
// reserved the ids was rolled back.
func TestIDsAfterARequestThatFailed(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		other := &harness{t: t, d: w.d, e: asset.New(w.d, model, logins{}, nil)}
		broken := errors.New("broken")
		seen := map[string]bool{}
		for _, h := range []*harness{w, other, w, other} {
			err := h.e.Write(t.Context(), auth.System, asset.Request{ID: asset.NewRequestID()}, func(s *asset.Session) error {
				c := create("Story", "@s", "Name", "A", "Scope", "Scope:0")
				s.Define("@s", c.Self)
				if _, err := s.Run(t.Context(), []*asset.Command{c}); err != nil {
					t.Error(err)
				}
				return broken
			})
			if !errors.Is(err, broken) {
				t.Fatal(err)
			}
			made := h.must(create("Story", "@s", "Name", "A", "Scope", "Scope:0"), create("Story", "@t", "Name", "B", "Scope", "Scope:0"))
			for _, oid := range made {
				if seen[oid] {
					t.Errorf("%s was made twice", oid)
				}
				seen[oid] = true
			}
		}
		w.expect("4 4\n", `SELECT COUNT(*), COUNT(DISTINCT id) FROM audit WHERE last_moment > 0`)
	})
}
