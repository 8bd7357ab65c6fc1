package check

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/alds-dev/alds/internal/base/folding"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
)

// folded checks the stored folded forms (the forms that comparisons use) of the texts of each
// version. Every text that needs a folded form must have one, and no other text may have one. The
// check "current version" compares the folded forms of assets.
func (c *checker) folded(ctx context.Context) error {
	var id, moment int64
	var attrs, kept longText
	into := slices.Concat([]any{&id, &moment}, attrs.into(), kept.into())
	query := "SELECT v.id, v.moment, " + ofChanged("attrs") + ", " + ofChanged("folded")
	texts := map[string]*longText{}
	for _, col := range c.all {
		if col.Kind == meta.Str || col.Kind == meta.Long {
			texts[col.Name] = &longText{}
			into = append(into, texts[col.Name].into()...)
			query += ", " + ofChanged(col.Name)
		}
	}
	var forms folder
	var inAttrs, got map[string]string // the texts of attrs, and the stored folded forms
	return c.eachIn(ctx, byVersion, func(scan row) error {
		if err := scan(into...); err != nil {
			return err
		}
		if text := attrs.get(); !attrs.isSame {
			inAttrs = textsIn(text.String)
		}
		if text := kept.get(); !kept.isSame {
			got = textsIn(text.String)
		}
		want := maps.Clone(inAttrs)
		for name, text := range texts {
			want[name] = text.get().String
		}
		for key, text := range want {
			if form := forms.of(key, text); form != "" {
				want[key] = form
			} else {
				delete(want, key)
			}
		}
		if !maps.Equal(want, got) {
			stored := objectOf(want)
			c.mend(`UPDATE asset_version SET folded = ?, folded_hash = NULL WHERE id = ? AND moment = ?`, stored, id, moment)
			c.mend(`UPDATE asset SET folded = ?, folded_hash = NULL WHERE id = ? AND moment = ?`, stored, id, moment)
			return c.report("asset_version", id,
				"moment %d has wrong folded forms: those of %q are stored, and those of %q are expected", moment,
				slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
		}
		return nil
	}, query+fromVersions)
}

// folder computes the folded forms of texts. It keeps the latest form of each key, because most versions
// of an asset have the same long texts.
type folder map[string]struct{ text, form string }

// of returns the folded form of the text of a key, or "" if the text needs no folded form.
func (f *folder) of(key, text string) string {
	if last, ok := (*f)[key]; ok && last.text == text {
		return last.form
	}
	form := ""
	if !folding.IsPlain(text) {
		form = folding.Of(text)
	}
	if *f == nil {
		*f = folder{}
	}
	(*f)[key] = struct{ text, form string }{text, form}
	return form
}

// comments expects that each audit has the folded form of its comment, if the comment needs a
// folded form.
func (c *checker) comments(ctx context.Context) error {
	return c.eachIn(ctx, byAudit, func(scan row) error {
		var id int64
		var comment, kept sql.NullString
		if err := scan(&id, &comment, &kept); err != nil {
			return err
		}
		want := ""
		if !folding.IsPlain(comment.String) {
			want = folding.Of(comment.String)
		}
		if kept.String != want {
			if want == "" {
				c.mend(`UPDATE audit SET folded = NULL WHERE id = ?`, id)
			} else {
				c.mend(`UPDATE audit SET folded = ? WHERE id = ?`, want, id)
			}
			return c.report("audit", id, "its comment %.60q has the wrong folded form %.60q", comment.String, kept.String)
		}
		return nil
	}, "SELECT id, comment, folded FROM audit WHERE {id} ORDER BY id")
}

// objectOf returns texts, by key, as a stored JSON object, or nil if there are no texts.
func objectOf(texts map[string]string) any {
	var members []string
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		members = append(members, value.JSON(key)+":"+value.JSON(texts[key]))
	}
	if members == nil {
		return nil
	}
	return "{" + strings.Join(members, ",") + "}"
}

// textsIn returns the texts of a stored JSON object by key. It ignores invalid JSON, which the
// check "attributes" reports.
func textsIn[T ~string | ~[]byte](object T) map[string]string {
	all := map[string]string{}
	_ = value.Members(object, func(key string, v jsontext.Token) error {
		if v.Kind() == '"' {
			all[key] = v.String()
		}
		return nil
	})
	return all
}
