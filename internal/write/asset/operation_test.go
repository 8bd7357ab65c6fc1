package asset_test

import (
	"testing"
)

func TestCopyTakesTasksAndTests(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		w.must(
			create("Scope", "@p", "Name", "P", "Parent", "Scope:0", "BeginDate", "2026-01-01"),
			create("Story", "@s", "Name", "S", "Scope", "@p", "Owners", "Member:20", "Status", "In Progress", "Estimate", "3", "Reference", "r", "TaggedWith", "tag"),
			create("Task", "@t", "Name", "T", "Parent", "@s", "ToDo", "2"),
			create("Test", "@a", "Name", "A", "Parent", "@s"),
		)
		w.must(operate("Test:1004", "Delete"), operate("Task:1003", "QuickClose"))
		o := w.run(operate("Story:1002", "Copy"), operate("Story:1002", "ShallowCopy"))
		if o[0].Err != nil || o[1].Err != nil {
			t.Fatal(o)
		}
		if o[0].OID.String() != "Story:1002" || o[0].Result.Type != "Story" || o[0].Result.ID == 1002 || o[0].Result.Moment == 0 {
			t.Errorf("answered with %s", o[0].Result)
		}
		w.expect("4 S-01001 3 134 1001\n4 S-01002 3 134 1001\n4 S-01003 3 134 1001\n7 TK-01001 - - 1001\n7 TK-01002 - - 1001\n8 AT-01001 - - 1001\n",
			`SELECT type, number, estimate, status_id, scope_id FROM asset WHERE id > 1001 ORDER BY type, number`)
		w.expect("3\n", `SELECT COUNT(*) FROM asset_link WHERE relation = 1 AND until_moment = 9223372036854775807`)
		w.expect("3\n", `SELECT COUNT(*) FROM asset_value`)
		w.expect("1\n", `SELECT COUNT(*) FROM asset t JOIN asset s ON t.parent_id = s.id WHERE s.number = 'S-01002' AND t.number = 'TK-01002' AND t.state = 64`)
		w.expect("1\n", `SELECT COUNT(*) FROM asset_version WHERE id = 1002`)
	})
}

func TestSplitTakesWhatIsOpen(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		w.must(
			create("Scope", "@p", "Name", "P", "Parent", "Scope:0", "BeginDate", "2026-01-01"),
			create("Story", "@s", "Name", "S", "Scope", "@p"),
			create("Task", "@t", "Name", "Open", "Parent", "@s"),
			create("Task", "@u", "Name", "Done", "Parent", "@s"),
		)
		w.must(operate("Task:1004", "Inactivate"))
		o := w.run(operate("Story:1002", "Split"))
		if o[0].Err != nil {
			t.Fatal(o[0].Err)
		}
		w.expect("Open S-01002\nDone S-01001\n",
			`SELECT t.name, s.number FROM asset t JOIN asset s ON t.parent_id = s.id WHERE t.type = 7 ORDER BY t.id`)
		w.expect("1002\n", `SELECT to_id FROM asset_link WHERE relation = 7`)
	})
}

func TestStoryBecomesEpicAndStoryAgain(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		w.must(
			create("Scope", "@p", "Name", "P", "Parent", "Scope:0", "BeginDate", "2026-01-01"),
			create("Story", "@s", "Name", "S", "Scope", "@p", "Estimate", "5", "Description", "d"),
			create("Story", "@d", "Name", "D", "Scope", "@p"),
			create("Task", "@t", "Name", "T", "Parent", "@d"),
		)
		o := w.run(operate("Story:1002", "Breakdown"))
		if o[0].Err != nil || o[0].Result.Type != "Epic" {
			t.Fatal(o)
		}
		epic := o[0].Result.Now().String()
		w.expect("S 208 -\nS 64 E-01001\n", `SELECT name, state, CASE WHEN type = 9 THEN number ELSE NULL END FROM asset WHERE name = 'S' ORDER BY id`)
		w.must(operate(epic, "GenerateSubStory"))
		if got := w.fails(operate("Story:1002", "EpicToStory")); got != "Invalid Operation 'Story.EpicToStory'" {
			t.Error(got)
		}
		w.expect("S-01003 S\n", `SELECT s.number, e.name FROM asset s JOIN asset e ON s.super_id = e.id`)
		sub := w.rows(`SELECT CONCAT('Story:', id) FROM asset WHERE super_id IS NOT NULL`)
		w.must(operate(sub[:len(sub)-1], "Delete"), operate("Story:1002", "EpicToStory"))
		w.expect("4 64\n4 255\n9 255\n", `SELECT type, state FROM asset WHERE name = 'S' ORDER BY type, id`)

		o = w.run(operate("Story:1003", "ConvertToDefect"))
		if o[0].Err != nil || o[0].Result.Type != "Defect" {
			t.Fatal(o)
		}
		w.expect("D D-01001\n", `SELECT p.name, p.number FROM asset t JOIN asset p ON t.parent_id = p.id WHERE t.type = 7`)
		w.expect("255\n", `SELECT state FROM asset WHERE id = 1003`)
		if o := w.run(operate("Scope:1001", "ConvertToTeam")); o[0].Err != nil || o[0].Result.Type != "Team" {
			t.Error(o)
		}
	})
}

func TestRegressionTestsBecomeTests(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		w.must(
			create("Scope", "@p", "Name", "P", "Parent", "Scope:0", "BeginDate", "2026-01-01"),
			create("RegressionPlan", "@plan", "Name", "Plan", "Scope", "@p"),
			create("RegressionSuite", "@suite", "Name", "Suite", "RegressionPlan", "@plan"),
			create("RegressionTest", "@one", "Name", "One", "Scope", "@p", "RegressionSuites", "@suite", "Steps", "1. 2."),
			create("RegressionTest", "@two", "Name", "Two", "Scope", "@p", "RegressionSuites", "@suite"),
			create("TestSet", "@set", "Name", "Set", "Scope", "@p", "RegressionSuite", "@suite"),
		)
		w.must(operate("TestSet:1006", "CopyAcceptanceTestsFromRegressionSuite"))
		w.expect("One 1006 1001 -\nTwo 1006 1001 -\n", `SELECT name, parent_id, scope_id, status_id FROM asset WHERE type = 8 ORDER BY id`)
		w.expect("1004\n1005\n", `SELECT to_id FROM asset_link WHERE relation = 23 ORDER BY to_id`)
	})
}

func TestSendMakesReceiptsOnce(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		w.must(create("Message", "@m", "Name", "Hello", "Recipients", "Member:20"))
		w.must(operate("Message:1001", "Send"), operate("Message:1001", "Send"))
		w.expect("1\n", `SELECT COUNT(*) FROM asset WHERE type = 36 AND state = 64`)
	})
}
