package asset_test

import (
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/asset"
	"github.com/alds-dev/alds/internal/db"
)

// described are the texts and the versions of the asset 1001: what lies apart, what stands
// in the row, and what a reader finds.
func (w *harness) described() (texts, versions string) {
	texts = w.rows(`SELECT SUBSTR(text, 1, 5) FROM asset_text WHERE asset_id = 1001 ORDER BY text`)
	versions = w.rows(`SELECT SUBSTR(v.description, 1, 5), CASE WHEN v.description_hash IS NULL THEN 0 ELSE 1 END, SUBSTR(` +
		db.OfVersion("v", "description") + `, 1, 5) FROM asset_version v WHERE v.id = 1001 ORDER BY v.moment`)
	return texts, versions
}

// TestTexts writes texts of an asset: each lies there once, whatever its versions change.
func TestTexts(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		long := func(begin string) string { return begin + strings.Repeat("x", db.MaxInline) }
		for _, step := range []struct {
			why, texts, versions string
			do                   []*asset.Command
		}{
			{"a long text", "one-x\n", "- 1 one-x\n", []*asset.Command{create("Story", "@s", "Name", "S", "Scope", "Scope:0", "Description", long("one-"))}},
			{"another attribute", "one-x\n", "- 1 one-x\n", []*asset.Command{update("Story:1001", "Estimate", "3")}},
			{"another text", "one-x\ntwo-x\n", "- 1 two-x\n", []*asset.Command{update("Story:1001", "Description", long("two-"))}},
			{"one it had before", "one-x\ntwo-x\n", "- 1 one-x\n", []*asset.Command{update("Story:1001", "Description", long("one-"))}},
			{"a short text", "one-x\ntwo-x\n", "short 0 short\n", []*asset.Command{update("Story:1001", "Description", "short")}},
			{"several in a request", "one-x\nthree\ntwo-x\n", "- 1 three\nlast 0 last\n", []*asset.Command{
				update("Story:1001", "Description", long("three")), update("Story:1001", "Description", "last"),
			}},
			{"none", "one-x\nthree\ntwo-x\n", "- 0 -\n", []*asset.Command{update("Story:1001", "Description", "")}},
		} {
			_, before := w.described()
			w.must(step.do...)
			texts, versions := w.described()
			if texts != step.texts || versions != before+step.versions {
				t.Errorf("%s: %s%s", step.why, texts, strings.TrimPrefix(versions, before))
			}
		}
		w.sound()
	})
}

// Many texts of one batch are copied on the server, documents never.
func TestManyTexts(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		var all []*asset.Command
		for range 40 {
			all = append(all, create("Story", "", "Name", "S", "Scope", "Scope:0", "Description", strings.Repeat("ÄÖ ", 100), "Benefits", strings.Repeat("ß ", 100)))
		}
		made := w.must(all...)
		w.expect("120 40\n", `SELECT COUNT(*), COUNT(DISTINCT asset_id) FROM asset_text`) // description, attrs, folded
		for i := range all {
			all[i] = update(made[i], "Estimate", "1")
		}
		w.must(all...)
		w.expect("120\n", `SELECT COUNT(*) FROM asset_text`)
		w.expect("80\n", `SELECT COUNT(*) FROM asset_version WHERE description IS NULL AND attrs IS NULL AND folded IS NULL AND COALESCE(description_hash, attrs_hash, folded_hash) IS NOT NULL`)
		w.sound()
	})
}

// Versions that were written with their texts are read as before, and the next one refers
// to the text.
func TestTextsOfBefore(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		w.must(create("Story", "@s", "Name", "S", "Scope", "Scope:0", "Description", strings.Repeat("old ", 100)))
		w.exec(`UPDATE asset_version SET description = (SELECT a.description FROM asset a WHERE a.id = asset_version.id), description_hash = NULL WHERE id = 1001`)
		w.exec(`UPDATE asset SET description_hash = NULL WHERE id = 1001`)
		w.exec(`DELETE FROM asset_text WHERE asset_id = 1001`)
		w.sound()
		w.must(update("Story:1001", "Estimate", "1"))
		w.must(update("Story:1001", "Estimate", "2"))
		if texts, versions := w.described(); texts != "old o\n" || versions != "old o 0 old o\n- 1 old o\n- 1 old o\n" {
			t.Error(texts, versions)
		}
		w.sound()
	})
}
