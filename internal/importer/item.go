package importer

import (
	"errors"
	"fmt"
	"html"
	"maps"
	"slices"
	"strings"
	"time"
)

// item is the asset that a record becomes.
type item struct {
	Line  int    // line of the record, from 1
	Raw   []byte // the record as it is in the file
	Key   string
	Alias string // another name of the record in links; empty: none
	Type  string // asset type

	Project []string         // names of projects from the outermost to the project of the item; empty: Options.Project
	Values  map[string]any   // by attribute, in the form that the service accepts
	Names   map[string]names // by relation: assets that are looked up by name
	Links   map[string]links // by relation: links to other records
	Remarks []comment        // comments on the item
	Cleared []string         // attributes whose columns exist and have no value
}

// names has the names of the assets in a relation. Each element of Candidates is one asset with
// several possible names.
type names struct {
	Candidates [][]string
	Unknown    string         // as rule.Unknown
	Create     map[string]any // as rule.Create
}

// links has the links of a relation, as the keys of the linked records.
type links struct {
	Keys    []string
	Later   bool // set the links when all records exist
	MayLack bool // leave out links to keys that no asset has, or whose asset the relation does not allow
}

// comment is a comment on an item.
type comment struct {
	At     string // date as in the record; in item.Remarks an instant in UTC; empty: unknown
	Author string // name of the author; empty: unknown
	Text   string // plain text; in item.Remarks HTML
}

// String returns the comment in the form of a CSV: date;author;text.
func (c comment) String() string { return c.At + ";" + c.Author + ";" + c.Text }

// translate turns a record into an item. The error says what is wrong in the record.
func (m *Mapping) translate(rec record) (item, error) {
	if rec.err != nil {
		return item{Line: rec.line, Raw: rec.raw}, rec.err
	}
	it := item{
		Line: rec.line, Raw: rec.raw, Key: first(rec, m.Key.Column), Alias: first(rec, m.Key.Alias),
		Values: map[string]any{}, Names: map[string]names{}, Links: map[string]links{},
	}
	types, err := m.Type.values(rec)
	if err == nil && len(types) > 0 {
		it.Type = fmt.Sprint(types[0])
	}
	switch {
	case err != nil:
		return it, fmt.Errorf("asset type: %w", err)
	case it.Key == "":
		return it, fmt.Errorf("no key in the column %s", m.Key.Column)
	case it.Type == "":
		return it, errors.New("no asset type")
	}
	it.Values[m.Key.Attribute] = it.Key
	if err := m.project(rec, &it); err != nil {
		return it, err
	}
	if m.asIs {
		return it, m.takeAll(rec, &it)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Attributes)) {
		if r := m.Attributes[name].of(it.Type); r != nil {
			if err := r.apply(rec, name, &it); err != nil {
				return it, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	if m.Comments != nil {
		return it, m.Comments.remarks(rec, &it)
	}
	return it, nil
}

// first returns the first value of a column as a key, or "" if it has none.
func first(rec record, column string) string {
	if v := rec.fields[column]; len(v) > 0 && v[0] != nil {
		return keyOf(v[0])
	}
	return ""
}

// keyOf returns a value as a key, without spaces around it. It is also used for keys from the
// service.
func keyOf(v any) string { return strings.TrimSpace(fmt.Sprint(v)) }

// project sets the project of an item from its columns.
func (m *Mapping) project(rec record, it *item) error {
	for _, c := range m.Project.Column {
		if name := first(rec, c); name != "" {
			it.Project = []string{name}
			if m.Project.Separator != "" {
				it.Project = strings.Split(name, m.Project.Separator)
			}
			break
		}
	}
	if len(it.Project) == 0 && slices.ContainsFunc(m.Project.Column, rec.has) {
		it.Cleared = append(it.Cleared, "Scope")
	}
	for i, name := range it.Project {
		if it.Project[i] = strings.TrimSpace(name); it.Project[i] == "" {
			return errors.New("a project has no name")
		}
	}
	return nil
}

// takeAll uses every column as an attribute. If a value is an object whose only member is the
// attribute of keys, the value is a link.
func (m *Mapping) takeAll(rec record, it *item) error {
	for name, vs := range rec.fields {
		switch {
		case name == "AssetType" || name == "" || name == m.Key.Attribute:
		case len(vs) == 0:
			it.Cleared = append(it.Cleared, name)
		case len(vs) > 1:
			it.Values[name] = vs
		default:
			keys, others := m.links(vs[0])
			if len(keys) > 0 && others {
				return fmt.Errorf("%s has both links and other values", name)
			}
			if len(keys) > 0 {
				it.Links[name] = links{Keys: keys}
			} else {
				it.Values[name] = vs[0]
			}
		}
	}
	return nil
}

// links returns the keys in a value that is a link or a list of links. others reports whether the
// value contains anything else.
func (m *Mapping) links(v any) (keys []string, others bool) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, v := range list {
		object, _ := v.(map[string]any)
		if key, ok := object[m.Key.Attribute]; ok && len(object) == 1 {
			keys = append(keys, keyOf(key))
		} else {
			others = true
		}
	}
	return keys, others
}

// apply sets an attribute by a rule. If the columns exist and have no value, it adds the
// attribute to Cleared.
func (r *rule) apply(rec record, name string, it *item) error {
	set, err := r.set(rec, name, it)
	if err == nil && !set && slices.ContainsFunc(r.Column, rec.has) {
		it.Cleared = append(it.Cleared, name)
	}
	return err
}

// set sets an attribute by a rule, and reports whether it has a value.
func (r *rule) set(rec record, name string, it *item) (bool, error) {
	if r.Unknown != "" && !r.Key {
		n := names{Candidates: r.candidates(rec), Unknown: r.Unknown, Create: r.Create}
		if len(n.Candidates) > 0 {
			it.Names[name] = n
		}
		return len(n.Candidates) > 0, nil
	}
	values, err := r.values(rec)
	if err != nil || len(values) == 0 {
		return false, err
	}
	if r.Key {
		l := links{Later: r.Later, MayLack: r.Unknown == leaveOut}
		for _, v := range values {
			if key := keyOf(v); key != "" {
				l.Keys = append(l.Keys, key)
			}
		}
		if len(l.Keys) > 0 {
			it.Links[name] = l
		}
		return len(l.Keys) > 0, nil
	}
	if it.Values[name] = any(values); len(values) == 1 {
		it.Values[name] = values[0]
	}
	return true, nil
}

// values returns the values of the rule's columns after all replacements and conversions.
func (r *rule) values(rec record) ([]any, error) {
	var all []any
	for _, c := range r.Column {
		if len(all) > 0 && !r.All {
			break
		}
		for _, v := range r.split(rec.fields[c]) {
			if v = r.replaced(v); v == nil {
				continue
			}
			v, err := r.converted(v)
			if err != nil {
				return nil, fmt.Errorf("the column %s: %w", c, err)
			}
			all = append(all, v)
		}
	}
	if len(all) == 0 && r.Default != nil {
		all = []any{r.Default}
	}
	return all, nil
}

// candidates returns the possible names of each asset in the rule's columns. The nth values of
// all columns are names of the same asset, unless the rule has All.
func (r *rule) candidates(rec record) [][]string {
	var all [][]string
	for _, c := range r.Column {
		for i, v := range r.split(rec.fields[c]) {
			if v = r.replaced(v); v == nil {
				continue
			}
			if r.All || i >= len(all) {
				all = append(all, nil)
				i = len(all) - 1
			}
			all[i] = append(all[i], fmt.Sprint(v))
		}
	}
	if len(all) == 0 && r.Default != nil {
		all = [][]string{{fmt.Sprint(r.Default)}}
	}
	return all
}

// split splits values at r.Split, and removes spaces and empty parts.
func (r *rule) split(values []any) []any {
	if r.Split == "" {
		return values
	}
	var all []any
	for _, v := range values {
		for part := range strings.SplitSeq(fmt.Sprint(v), r.Split) {
			if part = strings.TrimSpace(part); part != "" {
				all = append(all, part)
			}
		}
	}
	return all
}

// replaced returns the replacement of a value, or the value itself if it has no replacement.
func (r *rule) replaced(v any) any {
	if v == nil || len(r.Values) == 0 && r.Others == nil {
		return v
	}
	if to, ok := r.Values[fmt.Sprint(v)]; ok {
		return to
	}
	if r.Others != nil {
		return r.Others
	}
	return v
}

// converted returns a value in the form that the service accepts: a date as an instant, and
// plain text as HTML.
func (r *rule) converted(v any) (any, error) {
	text, ok := v.(string)
	switch {
	case ok && len(r.Date) > 0:
		return r.date(text)
	case ok && r.Text:
		return strings.ReplaceAll(strings.ReplaceAll(html.EscapeString(text), "\r\n", "\n"), "\n", "<br>"), nil
	}
	return v, nil
}

// date parses a date and returns it as an instant in UTC.
func (r *rule) date(text string) (string, error) {
	text = strings.TrimSpace(text)
	for _, form := range r.Date {
		if at, err := time.ParseInLocation(form, text, r.zone); err == nil {
			return at.UTC().Format("2006-01-02T15:04:05.000Z"), nil
		}
	}
	return "", fmt.Errorf("%q matches none of the date formats %s", text, strings.Join(r.Date, ", "))
}

// remarks adds the comments in the rule's columns to an item. A text has the form date;author;text.
// A text of any other form becomes a comment without date and author.
func (r *rule) remarks(rec record, it *item) error {
	values, err := (&rule{Column: r.Column, All: r.All}).values(rec)
	for _, v := range values {
		c, whole := v.(comment)
		if parts := strings.SplitN(fmt.Sprint(v), ";", 3); !whole && len(parts) == 3 {
			c, whole = comment{parts[0], parts[1], parts[2]}, true
		}
		if !whole {
			it.Remarks = append(it.Remarks, comment{Text: html.EscapeString(fmt.Sprint(v))})
			continue
		}
		if c.At, err = r.date(c.At); err != nil {
			return fmt.Errorf("a comment: %w", err)
		}
		c.Text = strings.ReplaceAll(html.EscapeString(c.Text), "\n", "<br>")
		it.Remarks = append(it.Remarks, c)
	}
	return err
}
