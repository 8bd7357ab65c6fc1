package assets

import (
	"cmp"
	"net/http"
	"net/url"

	"github.com/alds-dev/alds/internal/web/ui"
)

// fieldForm is the form of one attribute, which stands in the place of its value.
type fieldForm struct {
	*asset
	Field   *field
	Message string // why the value was refused
}

// shownValue is the value of one attribute on the page of an asset.
type shownValue struct {
	*asset
	Fact fact
}

// Long reports whether the attribute has a section of its own on the page.
func (s shownValue) Long() bool { return s.Fact.HTML != "" || s.Fact.long }

// Heading reports whether the attribute is the heading of the page.
func (s shownValue) Heading() bool { return s.Fact.Name == "Name" }

// showField serves GET ui/asset/<Oid>/field/<name>: the form of one attribute. With value=1 it is the value
// again. Without script it is the form of the whole asset.
func showField(v *ui.Visit) error {
	p, err := readField(v, "")
	if err != nil {
		return err
	}
	if !v.IsPart() {
		return v.Redirect(assetLink(p.Oid, "tab", "edit") + "#f-" + p.only)
	}
	if v.Param("value") != "" {
		return renderValue(v, p)
	}
	return v.RenderPart("asset", "inline", fieldForm{asset: p.asset, Field: p.fields[0]})
}

// readField reads the asset and the attribute of the URL. moment is the version that the form showed; if it is
// empty, the asset is read as it is now. Errors: *ui.Error, 403 if the reader may not change the attribute.
func readField(v *ui.Visit, moment string) (*editPage, error) {
	o, err := readOid(v.Request.PathValue("oid"))
	if err != nil {
		return nil, err
	}
	o.Moment = 0
	if moment != "" {
		if o, err = readOid(o.String() + ":" + moment); err != nil {
			return nil, err
		}
	}
	a, err := load(v, o)
	if err != nil {
		return nil, err
	}
	if moment != "" {
		a.IsPast, a.May = false, true
	}
	p := &editPage{asset: a, only: v.Request.PathValue("name")}
	if p.kind.ByName[p.only] == nil {
		return nil, ui.NotFound()
	}
	if !a.May || a.Deleted {
		return nil, &ui.Error{Status: http.StatusForbidden, Message: "Your role, or the state of the asset, does not allow it to be changed."}
	}
	if err := readFields(v, p); err != nil {
		return nil, err
	}
	if len(p.fields) == 0 {
		return nil, &ui.Error{Status: http.StatusForbidden, Message: "This value cannot be changed here."}
	}
	return p, nil
}

// editField serves POST ui/asset/<Oid>/field/<name>: it writes one attribute. If somebody has changed the same
// attribute since the form was shown, it answers with the form, which then shows both values. Changes of other
// attributes do not matter.
func editField(v *ui.Visit) error {
	moment := v.Field("moment")
	if !isMoment(moment) {
		return &ui.Error{Status: http.StatusBadRequest, Message: "The form does not say of which version it is."}
	}
	p, err := readField(v, moment)
	if err != nil {
		return err
	}
	update := p.changes(v.Request.PostForm)
	now := p
	if len(update) > 0 {
		if now, err = writeField(v, p, update); err != nil {
			return err
		}
	}
	switch {
	case now != nil && !v.IsPart():
		return v.Redirect(assetLink(p.Oid, "done", "saved"))
	case now != nil:
		if now, err = readField(v, ""); err != nil {
			return err
		}
		return renderValue(v, now)
	}
	return nil // the form was shown again
}

// maxAgain limits how often a change of one attribute is written again because others were changed meanwhile.
const maxAgain = 3

// writeField writes the change of one attribute. It returns nil without an error if it has shown the form again.
func writeField(v *ui.Visit, shown *editPage, update map[string]any) (*editPage, error) {
	at := shown.Moment
	for range maxAgain {
		err := v.API.WriteUnchanged(at, "", map[string]any{"from": shown.Oid, "update": update})
		if err == nil {
			return shown, nil
		}
		refused, err := ui.AsError(err)
		if err != nil {
			return nil, err
		}
		now, err := readField(v, "")
		if err != nil {
			return nil, err
		}
		f := now.fields[0]
		if refused.Status != http.StatusConflict {
			now.keep(v.Request.PostForm)
			return nil, v.RenderPart("asset", "inline", fieldForm{asset: now.asset, Field: f, Message: v.Readable(refused.Message)})
		}
		typed := url.Values(v.Request.PostForm)
		if f.meets(now.asset, shown.row, typed); f.Now != "" {
			now.keep(typed)
			by := cmp.Or(now.Changed.By.Name, "Somebody")
			return nil, v.RenderPart("asset", "inline", fieldForm{asset: now.asset, Field: f, Message: by + " has changed it meanwhile. Save again to replace that."})
		}
		at = now.Moment
	}
	return nil, &ui.Error{Status: http.StatusConflict, Message: "Others change this asset at the moment. Try it again."}
}

// renderValue answers with the value of the attribute of p.
func renderValue(v *ui.Visit, p *editPage) error {
	one := p.kind.ByName[p.only]
	f, _ := p.factOf(one)
	if one.ToMany() {
		f = p.fields[0].fact()
	}
	p.makeEditable(&f, one)
	return v.RenderPart("asset", "value", shownValue{asset: p.asset, Fact: f})
}

// fact returns the assets of a relation to many as they are shown.
func (f *field) fact() fact {
	shown := fact{Label: f.Label}
	for _, o := range f.Options {
		if o.Chosen {
			shown.Refs = append(shown.Refs, ref{o.Value, o.Label})
		}
	}
	return shown
}

// makeEditable adds the link that changes an attribute, if the reader may change it.
func (a *asset) makeEditable(f *fact, one *ui.Attribute) {
	f.Name, f.long = one.Name, one.AttributeType == "LongText"
	f.Choice = one.IsRelation() && a.model.IsA(one.RelatedAsset.Nameref, "List")
	if a.May && !a.Deleted && !a.IsPast && a.isEdited(one) {
		f.Edit = "/ui/asset/" + a.Oid + "/field/" + one.Name
	}
}

// isEdited reports whether a form may have the attribute.
func (a *asset) isEdited(one *ui.Attribute) bool {
	switch one.AttributeType {
	case "Password", "Blob", "Rank":
		return false
	case "LongText":
		return !one.IsReadOnly && !a.Cut && len(a.row.text(one.Name)) <= maxEdited
	}
	return !one.IsReadOnly
}

// daily are the attributes that the page of an asset shows even without a value, because people set them every day.
var daily = map[string]bool{"Status": true, "Owners": true, "Timebox": true, "Super": true, "Estimate": true, "ToDo": true, "Priority": true}

// unset is an attribute without a value.
type unset struct{ Label, Name, Edit string }
