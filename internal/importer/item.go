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

// item is an asset that a record becomes.
type item struct {
	Line  int
	Raw   []byte
	Key   string
	Alias string // another name of it in links; empty: none
	Type  string

	Project []string         // from the outermost to its own; empty: the one that everything goes into
	Values  map[string]any   // by attribute, as the service takes them
	Names   map[string]names // relations whose names are looked up before they are sent
	Links   map[string]links // relations to other records
	Remarks []comment        // what was said of it
	Cleared []string         // attributes whose columns are there and have no value
}

// names are what a relation leads to, by name. Each element is one asset, of which
// several names are known.
type names struct {
	Candidates [][]string
	Unknown    string
	Create     map[string]any
}

// links are relations to records by their keys.
type links struct {
	Keys           []string
	Later, MayLack bool
}

// comment is one remark.
type comment struct {
	At, Author, Text string
}

// String is the comment as a CSV has it.
func (c comment) String() string { return c.At + ";" + c.Author + ";" + c.Text }

// translate turns a record into an item. Errors: what of the record cannot be used.
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

func first(rec record, column string) string {
	if v := rec.fields[column]; len(v) > 0 && v[0] != nil {
		return keyOf(v[0])
	}
	return ""
}

// keyOf is a value as a key, also of what the service has: spaces around it do not count.
func keyOf(v any) string { return strings.TrimSpace(fmt.Sprint(v)) }

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

// takeAll takes every column for an attribute. An object that has nothing but the
// attribute of keys is a link.
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

// links returns the keys of a link or a list of them, and whether there are values of
// another kind.
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

// apply sets an attribute by a rule, or notes that its column is empty.
func (r *rule) apply(rec record, name string, it *item) error {
	set, err := r.set(rec, name, it)
	if err == nil && !set && slices.ContainsFunc(r.Column, rec.has) {
		it.Cleared = append(it.Cleared, name)
	}
	return err
}

// set sets an attribute by a rule, and reports whether there is a value.
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

// values are those of the rule's columns, translated.
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

// candidates are the names of each asset that the rule's columns name: those of the
// nth value of all columns are one asset.
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

// replaced is what stands in the place of a value.
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

// converted is a value in the form that the service takes.
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

// date reads a date and returns it as an instant in UTC.
func (r *rule) date(text string) (string, error) {
	text = strings.TrimSpace(text)
	for _, form := range r.Date {
		if at, err := time.ParseInLocation(form, text, r.zone); err == nil {
			return at.UTC().Format("2006-01-02T15:04:05.000Z"), nil
		}
	}
	return "", fmt.Errorf("%q matches none of the date formats %s", text, strings.Join(r.Date, ", "))
}

// remarks reads comments: date;author;text.
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
