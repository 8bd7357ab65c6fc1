package seed_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/operate/check"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// otherModel returns the model without Story.Benefits and Story.QuickClose, and with Story.Value
// required.
func otherModel() *meta.Model {
	m := meta.Default()
	story, _ := m.Type("Story")
	story.Attrs = slices.DeleteFunc(story.Attrs, func(a *meta.Attr) bool { return a.Name == "Benefits" })
	story.Ops = slices.DeleteFunc(story.Ops, func(op *meta.Op) bool { return op.Name == "QuickClose" })
	v, _ := story.Attr("Value")
	v.Required = true
	return m
}

// An upgrade updates the rows that describe the model. It writes only differences, and the ids of
// rows stay. If the new model no longer has an attribute or operation, its row gets the state
// deleted, but still exists.
func TestMetadataFollowsTheModel(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newHarness(t, d)
		state := func(m *meta.Model, rows, later, deleted string) string {
			t.Helper()
			for range 2 {
				w.seed(m)
			}
			w.expect(rows, `SELECT COUNT(*) FROM asset WHERE id <= -5001`)
			w.expect(later, `SELECT COUNT(*) FROM asset_version WHERE id <= -5001 AND moment > 0`)
			w.expect(deleted, `SELECT name FROM asset WHERE id <= -5001 AND state = 255 ORDER BY name`)
			return w.rows(`SELECT id, name, parent_id FROM asset WHERE name <> 'Benefits' AND name <> 'QuickClose' AND id <= -5001 ORDER BY id`)
		}
		all := len(model.Rows())
		count := func(n int) string { return strconv.Itoa(n) + "\n" }
		before := state(otherModel(), count(all-2), "0\n", "")
		if after := state(model, count(all), "3\n", ""); after != before {
			t.Error("ids have changed")
		}
		w.expect("0\n", `SELECT `+d.Dialect.JSONInt("attrs", "IsRequired")+` IS NOT NULL FROM asset WHERE name = 'Value' AND parent_id = (SELECT id FROM asset WHERE type = 120 AND name = 'Story')`)
		if after := state(otherModel(), count(all), "6\n", "Benefits\nQuickClose\n"); after != before {
			t.Error("ids have changed")
		}
		if after := state(model, count(all), "9\n", ""); after != before {
			t.Error("ids have changed")
		}
		w.expect("3\n", `SELECT COUNT(*) FROM audit WHERE comment LIKE 'Kept in step%'`)
		if found, err := check.Run(t.Context(), d, model); err != nil || len(found) > 0 {
			t.Error(found, err)
		}
	})
}
