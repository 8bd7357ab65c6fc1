package asset_test

import (
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset"
)

// described returns the beginnings of the texts of asset 1001 in asset_text. It also returns, for
// each version, the description in the row, whether the row has a hash of the description, and
// the description that a query returns.
func (w *harness) described() (texts, versions string) {
	texts = w.rows(`SELECT SUBSTR(text, 1, 5) FROM asset_text WHERE asset_id = 1001 ORDER BY text`)
	versions = w.rows(`SELECT SUBSTR(v.description, 1, 5), CASE WHEN v.description_hash IS NULL THEN 0 ELSE 1 END, SUBSTR(` +
		db.OfVersion("v", "description") + `, 1, 5) FROM asset_version v WHERE v.id = 1001 ORDER BY v.moment`)
	return texts, versions
}

// A long text is stored only once in asset_text, however many versions of the asset have it.
func TestTexts(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		long := func(begin string) string { return begin + strings.Repeat("x", db.MaxInline) }
		estimate := func(to string) *asset.Command { return update("Story:1001", "Estimate", to) }
		text := func(to string) *asset.Command { return update("Story:1001", "Description", to) }
		for _, step := range []struct {
			why, texts, versions string
			do                   []*asset.Command
		}{
			{"a long text", "", "one-x 0 one-x\n", []*asset.Command{create("Story", "@s", "Name", "S", "Scope", "Scope:0", "Description", long("one-"))}},
			{"another attribute", "one-x\n", "- 1 one-x\n- 1 one-x\n", []*asset.Command{estimate("3")}},
			{"once more", "one-x\n", "- 1 one-x\n- 1 one-x\n- 1 one-x\n", []*asset.Command{estimate("4")}},
			{"another text", "one-x\n", "- 1 one-x\n- 1 one-x\n- 1 one-x\ntwo-x 0 two-x\n", []*asset.Command{text(long("two-"))}},
			{"one it had before, and another attribute", "one-x\n", "- 1 one-x\n- 1 one-x\n- 1 one-x\ntwo-x 0 two-x\none-x 0 one-x\none-x 0 one-x\n", []*asset.Command{text(long("one-")), estimate("5")}},
			{"another attribute", "one-x\n", "- 1 one-x\n- 1 one-x\n- 1 one-x\ntwo-x 0 two-x\none-x 0 one-x\n- 1 one-x\n- 1 one-x\n", []*asset.Command{estimate("6")}},
			{
				"several in a request", "one-x\n", "- 1 one-x\n- 1 one-x\n- 1 one-x\ntwo-x 0 two-x\none-x 0 one-x\n- 1 one-x\n- 1 one-x\n- 1 one-x\nshort 0 short\n- 1 one-x\n",
				[]*asset.Command{estimate("7"), text("short"), text(long("one-"))},
			},
			{"none", "one-x\n", "- 1 one-x\n- 1 one-x\n- 1 one-x\ntwo-x 0 two-x\none-x 0 one-x\n- 1 one-x\n- 1 one-x\n- 1 one-x\nshort 0 short\n- 1 one-x\n- 0 -\n", []*asset.Command{text("")}},
		} {
			w.must(step.do...)
			if texts, versions := w.described(); texts != step.texts || versions != step.versions {
				t.Errorf("%s: %s%s", step.why, texts, versions)
			}
		}
		w.sound()
	})
}

// One batch moves many texts to asset_text: descriptions, which the database copies, and JSON
// documents, which are sent.
func TestManyTexts(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		var all []*asset.Command
		for range 40 {
			all = append(all, create("Story", "", "Name", "S", "Scope", "Scope:0", "Description", strings.Repeat("ÄÖ ", 100), "Benefits", strings.Repeat("ß ", 100)))
		}
		made := w.must(all...)
		w.expect("0\n", `SELECT COUNT(*) FROM asset_text`)
		for i := range all {
			all[i] = update(made[i], "Estimate", "1")
		}
		w.must(all...)
		w.expect("120 40\n", `SELECT COUNT(*), COUNT(DISTINCT asset_id) FROM asset_text`) // three texts of each asset
		w.expect("80\n", `SELECT COUNT(*) FROM asset_version WHERE description IS NULL AND attrs IS NULL AND folded IS NULL AND description_hash IS NOT NULL AND attrs_hash IS NOT NULL AND folded_hash IS NOT NULL`)
		w.sound()
	})
}

// The folded forms of an asset are stored once, too. Changes of texts that need no folded form do not
// store them again.
func TestFoldedFormsAreStoredOnce(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		w.must(create("Story", "@s", "Name", "S", "Scope", "Scope:0", "Description", strings.Repeat("ÄÖ ", 100), "Benefits", "plain"))
		inRow := func(want string) {
			t.Helper()
			w.expect(want, `SELECT CASE WHEN folded IS NULL THEN 0 ELSE 1 END FROM asset_version WHERE id = 1001 ORDER BY moment`)
		}
		for _, c := range []*asset.Command{
			update("Story:1001", "Estimate", "1"), update("Story:1001", "Name", "plain"), update("Story:1001", "Reference", "plain"),
			update("Story:1001", "Benefits", "still plain"), update("Story:1001", "Benefits", ""),
		} {
			w.must(c)
		}
		inRow("0\n0\n0\n0\n0\n0\n")
		w.must(update("Story:1001", "Name", "Ä"))
		w.must(update("Story:1001", "Benefits", "Ä"))
		w.must(update("Story:1001", "Benefits", "plain"))
		inRow("0\n0\n0\n0\n0\n0\n1\n1\n1\n")
		w.sound()
	})
}

// An earlier release stored a long text in every version. At the next change of the asset, the
// text moves to asset_text. The new version and the version before it then refer to asset_text.
// Older versions stay as they are.
func TestTextsOfBefore(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		w.must(create("Story", "@s", "Name", "S", "Scope", "Scope:0", "Description", strings.Repeat("old ", 100)))
		w.must(update("Story:1001", "Estimate", "1"))
		w.exec(`UPDATE asset_version SET description = (SELECT a.description FROM asset a WHERE a.id = asset_version.id), description_hash = NULL WHERE id = 1001`)
		w.exec(`UPDATE asset SET description_hash = NULL WHERE id = 1001`)
		w.exec(`DELETE FROM asset_text WHERE asset_id = 1001`)
		w.sound()
		w.must(update("Story:1001", "Estimate", "2"))
		if texts, versions := w.described(); texts != "old o\n" || versions != "old o 0 old o\n- 1 old o\n- 1 old o\n" {
			t.Error(texts, versions)
		}
		w.sound()
	})
}
