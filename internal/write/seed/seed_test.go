package seed_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/operate/check"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// A second run changes nothing.
func TestSeedTwiceChangesNothing(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newHarness(t, d)
		w.seed(model)
		before := w.rows(`SELECT id, type, moment FROM asset ORDER BY id`)
		w.seed(model)
		if after := w.rows(`SELECT id, type, moment FROM asset ORDER BY id`); after != before || strings.Count(before, "\n") != len(model.Instances)+len(model.Rows()) {
			t.Errorf("%d instances, before:\n%s after:\n%s", len(model.Instances), before, after)
		}
		w.expect("0 0 0 on 0\n", `SELECT ancestor_id, descendant_id, since_moment, until_moment, depth FROM scope_closure`)
		w.expect("0 20 -999 1 0 on\n", `SELECT scope_id, member_id, role_id, is_owner, since_moment, until_moment FROM scope_member`)
		w.expect("0 20 0 on\n", `SELECT from_id, to_id, since_moment, until_moment FROM asset_link WHERE relation = 34`)
	})
}

// earlier returns the model of an earlier release, whose lists had fewer values: without the
// well-known assets with ids from 213 to 1000, and without values of RollupState.
func earlier() *meta.Model {
	m := meta.Default()
	m.Instances = slices.DeleteFunc(m.Instances, func(in meta.Instance) bool { return in.ID >= 213 && in.ID <= 1000 })
	for _, in := range m.Instances {
		delete(in.Attrs, "RollupState")
	}
	return m
}

// Run adds the well-known assets and values that a database of an earlier release lacks. It keeps
// everything that users have changed or deleted.
func TestSeedCompletesAnEarlierDatabase(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newHarness(t, d)
		w.seed(earlier())
		w.must(
			update("StoryStatus:133", "Name", "Backlog"),
			update("StoryStatus:134", "RollupState", "128"),
			update("TaskStatus:123", "RollupState", "64"),
			create("EpicStatus", "Name", " done"),
			create("DefectType", "Name", "code"),
			create("ScopeStatus", "Name", "Ours"),
		)
		w.must(update("TaskStatus:123", "RollupState", ""), operate("TaskStatus:126", "Delete"), operate("DefectType:1002", "Delete"),
			operate("RequestStatus:170", "Inactivate"))
		for range 2 {
			w.seed(model)
		}
		names := func(typ string) string {
			t.Helper()
			found, _ := model.Type(typ)
			return strings.ReplaceAll(w.rows(`SELECT id, name, state FROM asset WHERE type = ? ORDER BY id`, found.Code), "\n", "; ")
		}
		for typ, want := range map[string]string{
			"EpicStatus":   "311 Future 64; 312 In Progress 64; 1001  done 64; ",
			"DefectType":   "362 Design 64; 363 Documentation 64; 364 Requirements 64; 365 Environment 64; 366 Data 64; 1002 code 255; ",
			"ScopeStatus":  "451 Proposed 64; 452 In Progress 64; 453 On Hold 64; 454 Completed 64; 1003 Ours 64; ",
			"StoryStatus":  "133 Backlog 64; 134 In Progress 64; 135 Done 64; 137 Accepted 64; ",
			"EpicCategory": "208 Epic 64; 209 Feature 64; 210 Initiative 64; 211 Sub-Feature 64; 212 Non-Functional 64; 213 New Feature 64; ",
		} {
			if got := names(typ); got != want {
				t.Errorf("%s: %s\nwant %s", typ, got, want)
			}
		}
		w.expect("123 - 3\n125 128 2\n126 - 2\n133 0 3\n134 128 2\n170 64 3\n",
			`SELECT id, `+d.Dialect.JSONInt("attrs", "RollupState")+`, (SELECT COUNT(*) FROM asset_version v WHERE v.id = asset.id) FROM asset WHERE id IN (123, 125, 126, 133, 134, 170) ORDER BY id`)
		w.expect("1\n", `SELECT COUNT(*) FROM audit WHERE comment LIKE 'Set by an upgrade%'`)
		found, err := check.Run(t.Context(), d, model)
		if err != nil || len(found) > 0 {
			t.Error(found, err)
		}
	})
}

// Existing programs expect certain values in some lists. A new database has exactly these values. A
// database of an earlier release keeps its values.
func TestValuesThatProgramsExpect(t *testing.T) {
	before := map[string][]string{
		"StorySource": {"148 Customer", "149 Development", "150 Sales", "156 Support"}, "ThemeSource": {"351 Customer", "352 Development", "353 Sales", "354 Support"},
		"IssueResolution": {"391 Resolved", "392 Duplicate", "393 Deferred", "394 No Longer Relevant"}, "RequestCategory": {"401 Feature", "402 Enhancement", "403 Defect", "404 Question"},
	}
	now := map[string][]string{
		"StorySource": {"156 Product Mgt", "150 Sales", "148 Customer", "149 Development"}, "ThemeSource": {"354 Product Mgt", "353 Sales", "351 Customer", "352 Development"},
		"IssueResolution": {"391 Resolved", "392 No Action"}, "RequestCategory": {"401 Feature", "403 Defect", "404 Question"},
	}
	earlier := meta.Default()
	earlier.Instances = slices.DeleteFunc(earlier.Instances, func(in meta.Instance) bool { return before[in.Type.Name] != nil })
	for typ, values := range before {
		found, _ := earlier.Type(typ)
		for i, v := range values {
			id, name, _ := strings.Cut(v, " ")
			n, _ := strconv.ParseInt(id, 10, 64)
			earlier.Instances = append(earlier.Instances, meta.Instance{Type: found, ID: n, Attrs: map[string]string{"Name": name, "Order": strconv.Itoa(1000 + i)}})
		}
	}
	for what, c := range map[string]struct {
		models []*meta.Model
		want   map[string][]string
	}{
		"a new database":      {[]*meta.Model{model}, now},
		"an earlier database": {[]*meta.Model{earlier, model, model}, before},
	} {
		testdb.Each(t, func(t *testing.T, d *db.DB) {
			w := newHarness(t, d)
			for _, m := range c.models {
				w.seed(m)
			}
			for typ, want := range c.want {
				found, _ := model.Type(typ)
				if got := w.rows(`SELECT id, name FROM asset WHERE type = ? ORDER BY order_key`, found.Code); got != strings.Join(want, "\n")+"\n" {
					t.Errorf("%s: %s has\n%swant %q", what, typ, got, want)
				}
			}
		})
	}
}

// Every list has values, except lists of labels. Every status has a RollupState, which decides
// how an asset with this status counts in the assets above it.
func TestListsAreFilled(t *testing.T) {
	list, _ := model.Type("List")
	values := map[string]int{}
	for _, in := range model.Instances {
		values[in.Type.Name]++
		if _, has := in.Type.Attr("RollupState"); has != strings.HasSuffix(in.Type.Name, "Status") {
			t.Errorf("%s and RollupState", in.Type.Name)
		}
		if state := in.Attrs["RollupState"]; strings.HasSuffix(in.Type.Name, "Status") && !slices.Contains([]string{"0", "64", "128"}, state) {
			t.Errorf("%s:%d has the RollupState %q", in.Type.Name, in.ID, state)
		}
	}
	for _, typ := range list.Concrete {
		if !strings.HasSuffix(typ.Name, "Label") && values[typ.Name] == 0 {
			t.Errorf("%s has no values", typ.Name)
		}
	}
}
