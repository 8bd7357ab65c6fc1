package assets

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/web/ui"
)

// vanishedPage is the answer to a form of an asset that can no longer be changed. It shows the
// input of the form, so that nothing is lost.
type vanishedPage struct {
	Message string
	Path    string // path of the asset below the base; empty: the asset does not exist
	Fields  []typedField
}

// typedField is a field of a form with its input.
type typedField struct{ Label, Text string }

// showVanished answers for an asset that no longer exists or that the reader no longer sees. It
// returns the error gone if the type does not exist.
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

// showDeleted answers for an asset that was deleted and can be restored.
func showDeleted(v *ui.Visit, a *asset) error {
	v.Status = http.StatusConflict
	return v.Render("vanished", "Not saved", vanishedPage{
		Message: "Nothing was saved: " + cmp.Or(a.Changed.By.Name, "somebody") + " has deleted " + a.title() + ".",
		Path:    assetLink(a.Oid), Fields: typedFields(v, a),
	})
}

// typedFields returns the input of a form in the order of its fields. Empty input and selected
// options are left out.
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
