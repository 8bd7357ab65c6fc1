package assets

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/web/ui"
)

// showEdit shows the form that changes an asset.
func showEdit(v *ui.Visit, o oid.OID) error {
	a, err := load(v, o.Now())
	if err != nil {
		return err
	}
	if !a.May || a.Deleted {
		return &ui.Error{Status: http.StatusForbidden, Message: "Your role, or the state of the asset, does not allow it to be changed."}
	}
	p := &editPage{asset: a}
	if err := readFields(v, p); err != nil {
		return err
	}
	return showForm(v, p)
}

func showForm(v *ui.Visit, p *editPage) error {
	p.Tab = "edit"
	v.Sends("api/asset?atomic=true", `{"from": "`+p.Oid+`", "update": {"Name": "…"}}`)
	return v.Render("edit", "Edit "+p.title(), p)
}

// editAsset serves POST ui/asset/<Oid>: it writes the changed fields, unless the asset was
// changed after the form was shown.
func editAsset(v *ui.Visit) error {
	o, err := readOid(v.Request.PathValue("oid"))
	if err != nil {
		return err
	}
	o.Moment = 0
	moment := v.Field("moment")
	if !isMoment(moment) {
		return &ui.Error{Status: http.StatusBadRequest, Message: "The form does not say of which version it is."}
	}
	p, err := formOf(v, o, moment)
	if gone, _ := ui.AsError(err); gone != nil && gone.Status == http.StatusNotFound {
		return showVanished(v, o, gone)
	}
	if err != nil {
		return err
	}
	update := p.changes(v.Request.PostForm)
	switch {
	case len(update) == 0 && v.Field("comment") == "":
		return v.Redirect(assetLink(p.Oid, "done", "same"))
	case len(update) == 0:
		v.Status = http.StatusBadRequest
		return showRefused(v, p, "You changed nothing, so there is no change that the comment could be kept with.")
	}
	err = v.API.WriteUnchanged(moment, v.Field("comment"), map[string]any{"from": p.Oid, "update": update})
	if err == nil {
		return v.Redirect(assetLink(p.Oid, "done", "saved"))
	}
	refused, err := ui.AsError(err)
	if err != nil {
		return err
	}
	v.Status = refused.Status
	if refused.Status == http.StatusConflict {
		return showConflict(v, o, p)
	}
	return showRefused(v, p, refused.Message)
}

// formOf rebuilds the form with the values of the version that it showed.
func formOf(v *ui.Visit, o oid.OID, moment string) (*editPage, error) {
	shown, err := readOid(o.String() + ":" + moment)
	if err != nil {
		return nil, err
	}
	a, err := load(v, shown)
	if err != nil {
		return nil, err
	}
	a.IsPast, a.May = false, true
	p := &editPage{asset: a}
	return p, readFields(v, p)
}

// changes returns the new values of the attributes that differ from the version that the form
// showed. Key: name of the attribute.
func (p *editPage) changes(form url.Values) map[string]any {
	update := map[string]any{}
	for _, f := range p.fields {
		if change, changed := f.change(form, p.row); changed {
			update[f.Name] = change
		}
	}
	return update
}

// change returns the new value of a field, as a command needs it, and whether it differs from
// the value that was shown. Spec: interface 4.3.5.
func (f *field) change(form url.Values, shown row) (any, bool) {
	key := "f." + f.Name
	switch f.Control {
	case asMany:
		return asChange(f.manyOf(form))
	case asCheck:
		if !form.Has("had." + f.Name) {
			return nil, false
		}
		return form.Get(key) != "", (form.Get(key) != "") != shown.is(f.Name)
	case asLines:
		if !form.Has(key) {
			return nil, false
		}
		return asChange(lineChange(shown.list(f.Name), form.Get(key)))
	}
	if !form.Has(key) {
		return nil, false
	}
	typed := asTyped(form.Get(key))
	if f.same(typed, form, shown) {
		return nil, false
	}
	if typed == "" && f.attribute.AttributeType != "Text" && f.attribute.AttributeType != "LongText" {
		return nil, true
	}
	if f.Control == asMoment {
		typed += "Z"
	}
	return typed, true
}

// same reports whether the input equals the value that was shown. For a relation, the input
// may be the Oid or the name. The form contains the name that it showed, because the related
// asset may have been renamed since.
func (f *field) same(typed string, form url.Values, shown row) bool {
	if f.attribute.IsRelation() {
		before := formValue(asName, f.attribute, shown)
		if form.Has("was." + f.Name) {
			before = form.Get("was." + f.Name)
		}
		return typed == shown.oid(f.Name) || typed == before
	}
	before := asTyped(formValue(f.Control, f.attribute, shown))
	if f.Control == asMoment {
		return instantFrom(typed).Equal(instantFrom(before))
	}
	return typed == before
}

// instantFrom parses the value of an input for date and time.
func instantFrom(text string) time.Time {
	for _, form := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05.999"} {
		if at, err := time.Parse(form, text); err == nil {
			return at
		}
	}
	return time.Time{}
}

// manyOf returns the assets that a form adds to a relation to many, and those that it removes.
func (f *field) manyOf(form url.Values) (added, removed []string) {
	kept, had := form["f."+f.Name], form["had."+f.Name]
	added = append(minus(kept, had), linesOf(strings.ReplaceAll(form.Get("add."+f.Name), ";", "\n"))...)
	return added, minus(had, kept)
}

// asChange returns a change of a multi-value attribute, as a command needs it, and whether the
// change has any effect.
func asChange(added, removed []string) (any, bool) {
	change := map[string]any{}
	if len(added) > 0 {
		change["add"] = added
	}
	if len(removed) > 0 {
		change["remove"] = removed
	}
	return change, len(change) > 0
}

// lineChange compares the lines of a text area with the earlier values. A value counts as
// unchanged if all of its lines, without surrounding spaces, are in the text.
func lineChange(was []string, text string) (added, removed []string) {
	is, kept := linesOf(text), []string(nil)
	for _, value := range was {
		if lines := linesOf(value); len(minus(lines, is)) == 0 {
			kept = append(kept, lines...)
		} else {
			removed = append(removed, value)
		}
	}
	return minus(is, kept), removed
}

// asTyped replaces all line ends by \n, because browsers change line ends.
func asTyped(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
}

// linesOf returns the trimmed lines of a text, without empty and repeated lines.
func linesOf(text string) []string {
	var lines []string
	for line := range strings.Lines(asTyped(text)) {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// showRefused shows the form again with its input. The message is also shown at each field
// that it names.
func showRefused(v *ui.Visit, p *editPage, message string) error {
	p.keep(v.Request.PostForm)
	p.Comment = v.Field("comment")
	text := v.Readable(message)
	named := map[string]bool{}
	for _, m := range ui.Coded.FindAllStringSubmatch(message, -1) {
		named[m[4]] = true
	}
	for _, f := range p.fields {
		if !named[f.Name] {
			continue
		}
		missed, err := p.missedBy(v, f)
		if err != nil {
			return err
		}
		if len(missed) > 0 {
			text += ": “" + strings.Join(missed, "”, “") + "”"
		}
		f.Message = text
	}
	p.Message = text
	return showForm(v, p)
}

// maxMissed limits the names that are looked up to find out which of them caused a refusal.
const maxMissed = 20

// missedBy looks at the names in a field for several assets, and returns the names that match no
// asset. The interface refuses the field as a whole and does not report these names.
// Errors: *ui.Error.
func (p *editPage) missedBy(v *ui.Visit, f *field) (missed []string, err error) {
	related := p.model.Types[f.attribute.RelatedAsset.Nameref]
	if f.Control != asMany || related == nil {
		return nil, nil
	}
	var terms []string
	for _, name := range []string{"Name", "Number", "Nickname", "Username"} {
		if related.ByName[name] != nil {
			terms = append(terms, name+"=$Text")
		}
	}
	added, _ := f.manyOf(v.Request.PostForm)
	added = slices.DeleteFunc(added, ui.IsAnyOid)
	if len(terms) == 0 || len(added) == 0 || len(added) > maxMissed {
		return nil, nil
	}
	queries, into, found := []ui.Query{}, []any{}, make([][]ui.Named, len(added))
	for i, text := range added {
		queries = append(queries, ui.Query{
			"from": related.Token, "filter": []string{strings.Join(terms, "|")}, "with": map[string]any{"$Text": []string{text}}, "page": map[string]int{"size": 1, "start": 0},
		})
		into = append(into, &found[i])
	}
	quiet := v.Quiet() // used only for the message, so the footer does not show the request
	if err := quiet.Find(queries, into...); err != nil {
		return nil, err
	}
	for i, text := range added {
		if len(found[i]) == 0 {
			missed = append(missed, text)
		}
	}
	return missed, nil
}

// showConflict shows the form of the current version with the input for an earlier version. If the
// reader and someone else changed the same field, it shows the input and the current value.
func showConflict(v *ui.Visit, o oid.OID, shown *editPage) error {
	a, err := load(v, o)
	if gone, _ := ui.AsError(err); gone != nil && gone.Status == http.StatusNotFound {
		return showVanished(v, o, gone)
	}
	if err != nil {
		return err
	}
	if a.Deleted {
		return showDeleted(v, a)
	}
	p := &editPage{asset: a, Comment: v.Field("comment")}
	if err := readFields(v, p); err != nil {
		return err
	}
	mine := shown.changes(v.Request.PostForm)
	typed := maps.Clone(v.Request.PostForm)
	for _, f := range p.fields {
		_, changed := mine[f.Name]
		if changed {
			f.meets(a, shown.row, typed)
		}
		if !changed {
			for _, part := range []string{"f.", "had.", "add."} {
				delete(typed, part+f.Name)
			}
		}
	}
	p.keep(typed)
	by := a.Changed.By.Name
	if by == "" {
		by = "Somebody"
	}
	p.Message = by + " has changed the asset since you opened this form. What you typed is kept; where both of you changed a field, what it has now stands beside it. Save again to write your values."
	return showForm(v, p)
}

// meets sets the current value at a field that someone else also changed. If the field has several
// values, it applies the input to the current values, so that the other person's changes remain.
func (f *field) meets(now *asset, shown row, typed url.Values) {
	var is string
	var same bool
	switch f.Control {
	case asMany:
		return // the checkboxes of the field already show the current assets
	case asLines:
		was, list := shown.list(f.Name), now.row.list(f.Name)
		added, removed := lineChange(was, typed.Get("f."+f.Name))
		typed.Set("f."+f.Name, strings.Join(append(minus(list, removed), minus(added, list)...), "\n"))
		is, same = strings.Join(list, ", "), len(minus(was, list))+len(minus(list, was)) == 0
	default:
		_, is, same = now.both(f.attribute, shown, now.row)
	}
	if !same {
		f.Now = cmp.Or(is, "nothing")
	}
}

// keep puts the input of a form into the fields.
func (p *editPage) keep(form url.Values) {
	for _, f := range p.fields {
		key := "f." + f.Name
		switch f.Control {
		case asMany:
			f.keepMany(form)
		case asCheck:
			if form.Has("had." + f.Name) {
				f.Checked = form.Get(key) != ""
			}
		case asChoice:
			if form.Has(key) {
				f.choose(form.Get(key))
			}
		default:
			if form.Has(key) {
				f.Value = asTyped(form.Get(key))
			}
		}
	}
}

// choose selects an option. It adds the option if the field no longer offers it.
func (f *field) choose(value string) {
	found := value == ""
	for i := range f.Options {
		f.Options[i].Chosen = f.Options[i].Value == value
		found = found || f.Options[i].Chosen
	}
	if !found {
		f.Options = append(f.Options, option{Value: value, Label: value, Chosen: true})
	}
	f.Value = value
}

// keepMany restores the checkboxes of the input.
func (f *field) keepMany(form url.Values) {
	if !form.Has("f."+f.Name) && !form.Has("had."+f.Name) && !form.Has("add."+f.Name) {
		return
	}
	added, removed := f.manyOf(form)
	for i, one := range f.Options {
		f.Options[i].Chosen = (one.Chosen || slices.Contains(added, one.Value)) && !slices.Contains(removed, one.Value)
	}
	f.Adds = form.Get("add." + f.Name)
}
