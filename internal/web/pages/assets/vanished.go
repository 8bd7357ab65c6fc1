package assets

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/web/ui"
)

// vanishedPage answers a form of an asset that cannot be changed any more: it shows what
// the form had, so that nothing that was typed is lost.
type vanishedPage struct {
	Message string
	Path    string // below the base: the asset; empty: it is not there
	Fields  []typedField
}

// typedField is a field of a form with what was in it.
type typedField struct{ Label, Text string }

// showVanished answers for an asset that is not there, or not for the reader. Errors:
// that of a type that there is not.
func showVanished(v *ui.Visit, o oid.OID, gone *ui.Error) error {
	model, err := v.Model()
	if err != nil {
		return err
	}
	kind := model.Types[o.Type]
	if kind == nil {
		return gone
	}
	words, err := v.Words(ui.TagsOf(kind))
	if err != nil {
		return err
	}
	v.Status = http.StatusNotFound
	return v.Render("vanished", "Not saved", vanishedPage{
		Message: "Nothing was saved: the asset is no longer there, or you do not see it any more.",
		Fields:  typedFields(v, &asset{kind: kind, model: model, words: words}),
	})
}

// showDeleted answers for an asset that somebody has deleted, and may bring back.
func showDeleted(v *ui.Visit, a *asset) error {
	v.Status = http.StatusConflict
	return v.Render("vanished", "Not saved", vanishedPage{
		Message: "Nothing was saved: " + cmp.Or(a.Changed.By.Name, "somebody") + " has deleted " + a.title() + ".",
		Path:    assetLink(a.Oid), Fields: typedFields(v, a),
	})
}

// typedFields are what a form had, in the order of its fields, without what was empty or
// chosen.
func typedFields(v *ui.Visit, a *asset) []typedField {
	form := v.Request.PostForm
	p := &editPage{asset: a}
	var all []typedField
	for _, one := range p.editable() {
		values := append(slices.Clone(form["f."+one.Name]), form["add."+one.Name]...)
		values = slices.DeleteFunc(values, func(text string) bool {
			_, err := oid.Parse(text)
			return strings.TrimSpace(text) == "" || one.IsRelation() && err == nil
		})
		if len(values) > 0 && one.AttributeType != "Boolean" {
			all = append(all, typedField{a.words.Of(one.DisplayName), strings.ReplaceAll(strings.Join(values, "\n"), "\r\n", "\n")})
		}
	}
	if comment := v.Field("comment"); comment != "" {
		all = append(all, typedField{"Comment", comment})
	}
	return all
}
