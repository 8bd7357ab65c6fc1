package asset_test

import (
	"fmt"
	"testing"

	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/purge"
)

// DeleteWithData of a list requires the number of its values, and no attribute may refer to the
// list or belong to it. The list disappears from the model at once. A purge then removes its
// values completely, even if it is interrupted. After that, a new list may have the same name.
func TestDeleteListWithData(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		now := w.growing()
		list := now.must(createBy(now.e, "AssetType", "Name", "Custom_Origins", "Base", "List"))[0]
		now = now.growing()
		now, leads := now.define("Custom_Origin", "AttributeType", "Relation", "RelatedAssetType", "Custom_Origins", "ReverseName", "Custom_Back")
		now, any := now.define("Custom_Any", "AttributeType", "Relation", "RelatedAssetType", "List")
		own := now.must(createBy(now.e, "AttributeDefinition", "Name", "Custom_Own", "Asset", "Custom_Origins", "AttributeType", "Text"),
			createBy(now.e, "AttributeDefinition", "Name", "Custom_Note", "Asset", "List", "AttributeType", "LongText"),
			createBy(now.e, "AttributeDefinition", "Name", "Custom_Who", "Asset", "List", "AttributeType", "Relation", "RelatedAssetType", "Member"))[0]
		now = now.growing()
		var all []*asset.Command
		for i := range 120 {
			all = append(all, createBy(now.e, "Custom_Origins", "Name", fmt.Sprint("GROẞ", i), "Description", "secret", "Custom_Own", "secret", "Custom_Note", "secret", "Custom_Who", "Member:20"))
		}
		values := now.must(all...)
		stories := now.must(createBy(now.e, "Story", "Name", "leads", "Scope", "Scope:0", "Custom_Origin", values[0], "Custom_Any", values[1]),
			createBy(now.e, "Story", "Name", "other", "Scope", "Scope:0", "Custom_Any", "StoryStatus:133"),
			update(values[2], "Name", "secret again"), operate(values[3], "Delete"))

		for _, c := range []struct{ definition, count, refused string }{
			{own, "120", "Violation'Invalid'AssetType.Name: Story.Custom_Origin leads to the list; delete it with its data first"},
			{leads, "1", "Violation'Invalid'AssetType.Name: Story.Custom_Origin leads to the list; delete it with its data first"},
		} {
			if got := now.fails(operate(list, "DeleteWithData", "Assets", "120")); got != c.refused {
				t.Error(got)
			}
			now.must(operate(c.definition, "DeleteWithData", "Assets", c.count))
			now = now.growing()
		}
		if got := now.fails(operate(list, "DeleteWithData")); got != "Violation'Required'AssetType.Assets: the list has 120 values" {
			t.Error(got)
		}
		if got := now.fails(operate(list, "DeleteWithData", "Assets", "119")); got != "Violation'Invalid'AssetType.Assets: the list has 120 values" {
			t.Error(got)
		}
		now.must(operate(list, "DeleteWithData", "Assets", "120"))
		now = now.growing()
		if got := now.fails(operate(list, "Undelete")); got != "Invalid Operation 'AssetType.Undelete'" {
			t.Error(got)
		}
		if got := now.fails(createBy(now.e, "AssetType", "Name", "Custom_Origins", "Base", "List")); got != "Violation'Invalid'AssetType.Name: there is a Custom_Origins that is out of use" {
			t.Error(got)
		}
		left := `SELECT COUNT(*) FROM asset_version WHERE type = 10000 AND (name IS NOT NULL OR description IS NOT NULL OR attrs IS NOT NULL OR folded IS NOT NULL OR custom_text_1 IS NOT NULL)`
		links := `SELECT COUNT(*) FROM asset_link WHERE relation >= 10000 AND to_id <> 133`
		if n := w.number(left); n != 122 || w.number(links) == 0 {
			t.Errorf("%d versions before the purge", n)
		}
		w.purgeUntilLess(left)
		if n := w.number(left); n != 20 {
			t.Errorf("%d versions after the first step", n)
		}
		now.agrees()
		if err := purge.Run(t.Context(), w.d, model); err != nil {
			t.Fatal(err)
		}
		if n := w.number(left) + w.number(links) + w.number(`SELECT COUNT(*) FROM definition_purge`); n != 0 {
			t.Errorf("%d values are left", n)
		}
		w.growing().agrees()
		w.expect("120 122\n", `SELECT COUNT(DISTINCT id), COUNT(*) FROM asset_version WHERE type = 10000`)
		now.must(update(stories[0], "Name", "changed"), operate(any, "Inactivate"), createBy(now.e, "AssetType", "Name", "Custom_Origins", "Base", "List"))
		now = now.growing()
		if typ := mustType(now.e.Model(), "Custom_Origins"); typ.Code != 10001 || len(typ.Concrete) != 1 {
			t.Errorf("the list made anew: %+v", typ)
		}
		now.must(createBy(now.e, "Custom_Origins", "Name", "new"))
		now.agrees()
	})
}

// DeleteWithData of an attribute also removes its values from an inactive list. A later
// attribute with the same column or relation code does not find these values.
func TestDeleteWithDataOfARetiredList(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		now := w.growing()
		list := now.must(createBy(now.e, "AssetType", "Name", "Custom_Origins", "Base", "List"))[0]
		now = now.growing()
		made := now.must(createBy(now.e, "AttributeDefinition", "Name", "Custom_Color", "Asset", "List", "AttributeType", "Text"),
			createBy(now.e, "AttributeDefinition", "Name", "Custom_Who", "Asset", "List", "AttributeType", "Relation", "RelatedAssetType", "Member"))
		now = now.growing()
		now.must(createBy(now.e, "Custom_Origins", "Name", "there", "Custom_Color", "red", "Custom_Who", "Member:20"), operate(list, "Inactivate"))
		now = now.growing()
		for _, definition := range made {
			now.must(operate(definition, "DeleteWithData", "Assets", "1"))
			now = now.growing()
		}
		if err := purge.Run(t.Context(), w.d, model); err != nil {
			t.Fatal(err)
		}
		if n := w.number(`SELECT COUNT(custom_text_1) FROM asset_version`) + w.number(`SELECT COUNT(*) FROM asset_link WHERE relation >= 10000`); n != 0 {
			t.Errorf("%d values are left", n)
		}
		now.must(operate(list, "Reactivate"))
		now.growing().agrees()
	})
}
