package meta

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Custom is what administrators have added to the model.
type Custom struct {
	Lists      []CustomList
	Attributes []CustomAttribute
}

// CustomList is a list of values: a concrete type below List.
type CustomList struct {
	ID      int64  // stored id of its AssetType
	Name    string // Custom_…
	Display string // the name for people
	Code    int    // asset.type of its values
	Retired bool   // its values remain, but requests cannot name it or relations to it
	Purging bool   // its values are being cleared
	Purged  bool   // its values are cleared, and its name is free
}

// CustomAttribute is an attribute of a type and of all types below it.
type CustomAttribute struct {
	ID       int64  // stored id of its definition
	Type     string // the type that declares it
	Name     string // Custom_…
	Display  string // the name for people
	Kind     Kind   // Text, LongText, Numeric, Date, Boolean or Relation
	DateOnly bool   // for a Date: without a time of day
	To       string // for a Relation: the related type
	Many     bool   // for a Relation: it may refer to several assets
	Back     string // for a Relation: its name on the related type; may be empty
	Required bool
	Retired  bool // its values remain, but requests cannot name it
	Purging  bool // its values are being removed
	Purged   bool // its values are deleted; only its name and meaning remain
	Order    float64
	// Code is asset_link.relation for a Relation. For a Numeric, Date or Text it is the number of
	// its column (see FreeColumn); 0: the values are in the JSON of asset.attrs.
	Code int
}

// DefinedBy returns the attribute that the definition with this stored id defines, on the type that
// declares it. It also finds retired attributes.
func (m *Model) DefinedBy(definition int64) (*Attr, bool) {
	for _, t := range m.Types {
		for _, a := range slices.Concat(t.Attrs, t.Kept) {
			if a.Definition == definition && a.Declared == t && a.Place.Kind != InLinksBack {
				return a, true
			}
		}
	}
	return nil, false
}

// ListDefinedBy returns the list that the definition with this stored id defines. It also finds
// retired lists.
func (m *Model) ListDefinedBy(definition int64) (*Type, bool) {
	i := slices.IndexFunc(m.Types, func(t *Type) bool { return t.Custom && t.Definition == definition })
	if i < 0 {
		return nil, false
	}
	return m.Types[i], true
}

// customKinds are the kinds of custom attributes.
var customKinds = []Kind{Text, LongText, Numeric, Date, Boolean, Relation}

// Extend returns m with the entries of c in place of the custom entries of m. m does not
// change, and the two models share no data that changes.
// Errors: the reason for each entry of c that does not fit, joined. The returned model then
// has all other entries.
func (m *Model) Extend(c Custom) (*Model, error) {
	extended, left, err := m.extend(c)
	all := []error{err}
	for _, l := range left {
		all = append(all, l)
	}
	return extended, errors.Join(all...)
}

// extend is like Extend, but returns the entries that were left out.
// Errors: defects of the model files. A loaded model has no such defects.
func (m *Model) extend(c Custom) (*Model, []*leftOutError, error) {
	l := &loader{}
	extended, err := m.source.load(c, l)
	if err != nil {
		return m, nil, err
	}
	return extended, l.left, nil
}

// leftOutError is the reason why a custom entry is left out.
type leftOutError struct {
	id         int64
	what, name string
	err        error
}

// Error returns the entry and the reason.
func (l *leftOutError) Error() string {
	return "custom " + l.what + " " + l.name + ": " + l.err.Error()
}

// Unwrap returns the reason.
func (l *leftOutError) Unwrap() error { return l.err }

// leave records why a custom entry is left out.
func (l *loader) leave(id int64, what, name, format string, args ...any) {
	l.left = append(l.left, &leftOutError{id, what, name, fmt.Errorf(format, args...)})
}

// customLists makes the types of the custom lists.
func (l *loader) customLists() {
	list := l.m.types["List"]
	for _, c := range l.custom.Lists {
		if c.Purged { // its remaining values need a type, and another list may have the name
			c.Name += "~" + strconv.Itoa(c.Code)
		}
		switch {
		case list == nil:
			l.leave(c.ID, "list", c.Name, "the model has no lists")
		case c.Name == "" || l.m.types[c.Name] != nil:
			l.leave(c.ID, "list", c.Name, "the name is taken")
		case c.Code <= 0 || l.m.codes[c.Code] != nil:
			l.leave(c.ID, "list", c.Name, "code %d is missing or taken", c.Code)
		default:
			ft := &fileType{Code: c.Code, Parent: list.Name, retired: c.Retired}
			if c.Display != "" {
				ft.Display = yaml.Node{Kind: yaml.ScalarNode, Value: c.Display}
			}
			t := l.addType(entry{key: c.Name}, ft)
			t.Custom, t.Retired, t.Definition = true, c.Retired, c.ID
			t.Emptied = c.Purging || c.Purged
		}
	}
}

// customAttributes declares the custom attributes in order. An attribute in use takes precedence
// over a retired attribute of the same name.
func (l *loader) customAttributes() {
	all := slices.DeleteFunc(slices.Clone(l.custom.Attributes), func(c CustomAttribute) bool { return c.Purged })
	retired := func(c CustomAttribute) int {
		if c.Retired {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b CustomAttribute) int {
		return cmp.Or(retired(a)-retired(b), cmp.Compare(a.Order, b.Order), cmp.Compare(a.ID, b.ID))
	})
	codes := l.linkCodes()
	l.spareColumns()
	for _, c := range all {
		if err := l.customAttribute(c, codes); err != nil {
			l.leave(c.ID, "attribute", c.Type+"."+c.Name, "%w", err)
		}
	}
}

// linkCodes returns the codes of all relations declared so far.
func (l *loader) linkCodes() map[int]bool {
	codes := map[int]bool{}
	for _, own := range l.own {
		for _, d := range own {
			if d.attr.Place.Kind == InLinks {
				codes[d.attr.Place.Code] = true
			}
		}
	}
	return codes
}

// customAttribute declares one custom attribute and its reciprocal.
// Errors: the reason why the attribute does not fit.
func (l *loader) customAttribute(c CustomAttribute, codes map[int]bool) error {
	t := l.m.types[c.Type]
	switch {
	case t == nil || t.isMetadata(l):
		return fmt.Errorf("no type %s that may have custom attributes", c.Type)
	case c.Retired && l.isTaken(t, c.Name):
		return nil
	case c.Name == "" || l.isTaken(t, c.Name):
		return errors.New("the name is taken")
	case !slices.Contains(customKinds, c.Kind):
		return fmt.Errorf("no attribute type %q", c.Kind)
	}
	place, err := l.placeOf(t, c)
	if err != nil {
		return err
	}
	d := &decl{attr: Attr{
		Name: c.Name, Declared: t, Kind: c.Kind, DateOnly: c.DateOnly && c.Kind == Date, Required: c.Required && !c.Retired,
		Custom: true, Retired: c.Retired, Definition: c.ID, Display: c.Display, Place: place,
	}}
	if c.Kind == Relation {
		related := l.m.types[c.To]
		switch {
		case related == nil || related.isMetadata(l):
			return fmt.Errorf("no type %s that has assets", c.To)
		case c.Code <= 0 || codes[c.Code]:
			return fmt.Errorf("link code %d is missing or taken", c.Code)
		case c.Back != "" && (l.isTaken(related, c.Back) || c.Back == c.Name && (t.IsA(related) || related.IsA(t))):
			return fmt.Errorf("%s has a %s already", related.Name, c.Back)
		}
		d.attr.Related, d.attr.Multi, d.back = related, c.Many, c.Back
		if l.files[related].retired || l.files[t].retired {
			d.attr.Retired, d.attr.Required = true, false
		}
		codes[c.Code] = true
	}
	l.own[t] = append(l.own[t], d)
	l.reciprocal(t, d)
	return nil
}

// placeOf returns where the values of a custom attribute of t are stored.
// Errors: its column is missing or taken.
func (l *loader) placeOf(t *Type, c CustomAttribute) (Place, error) {
	switch column := spareColumn(c.Kind, c.Code); {
	case c.Kind == Relation:
		return Place{Kind: InLinks, Code: c.Code}, nil
	case c.Code == 0:
		return Place{Kind: InAttrs, Column: c.Name}, nil
	case column == "" || l.has(t, func(d *decl) bool { return d.attr.Place.Kind == InColumn && d.attr.Place.Column == column }):
		return Place{}, fmt.Errorf("column %d is missing or taken", c.Code)
	default:
		return Place{Kind: InColumn, Column: column, Slot: l.slots[column]}, nil
	}
}

// isMetadata reports whether a type describes the model. It also works before the step describe,
// which sets t.Metadata.
func (t *Type) isMetadata(l *loader) bool { return l.files[t].Metadata }

// isTaken reports whether t, or a type above or below it, has an attribute or operation of
// this name.
func (l *loader) isTaken(t *Type, name string) bool {
	return l.has(t, func(d *decl) bool { return d.attr.Name == name }) || slices.ContainsFunc(l.m.Types, func(other *Type) bool {
		return (other.IsA(t) || t.IsA(other)) && slices.ContainsFunc(other.Ops, func(o *Op) bool { return o.Name == name })
	})
}

// has reports whether t, or a type above or below it, has a declaration for which the given
// function returns true.
func (l *loader) has(t *Type, is func(d *decl) bool) bool {
	return slices.ContainsFunc(l.m.Types, func(other *Type) bool {
		return (other.IsA(t) || t.IsA(other)) && slices.ContainsFunc(l.own[other], is)
	})
}

// retireAttrs moves the retired attributes of each type, including reciprocals, from Attrs to Kept.
// So they are not found by name.
func (l *loader) retireAttrs(*source) {
	retired := func(a *Attr) bool { return a.Retired }
	for _, t := range l.m.Types {
		for _, a := range t.Attrs {
			if a.Retired {
				t.Kept = append(t.Kept, a)
				delete(t.attrs, a.Name)
			}
		}
		if t.Kept != nil {
			t.Attrs = slices.DeleteFunc(t.Attrs, retired)
		}
	}
}

// retireTypes removes the retired lists from the map of types by name, and from the lists of the
// types above them.
func (l *loader) retireTypes(*source) {
	for _, t := range l.m.Types {
		if !t.Retired {
			continue
		}
		delete(l.m.types, t.Name)
		other := func(o *Type) bool { return o == t }
		t.Parent.Children = slices.DeleteFunc(t.Parent.Children, other)
		for _, above := range t.Parent.Ancestors() {
			above.Concrete = slices.DeleteFunc(above.Concrete, other)
		}
		for _, a := range t.Attrs {
			a.Required = a.Required && !t.Emptied
		}
	}
}
