package check

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
)

// shape describes where the rows of a type store their attributes.
type shape struct {
	slots    []bool                // by index in checker.all: true if the column may have a value
	keys     map[string]*meta.Attr // attributes in the column attrs, by JSON key
	required []*meta.Attr          // required attributes that are stored in columns or in attrs
}

// definitionCode describes the code that the definition of a custom attribute stores in its JSON.
// The attribute Code is not in the model, so no request can use it.
var definitionCode = &meta.Attr{
	Name: "Code", On: &meta.Type{Name: "AttributeDefinition"}, Kind: meta.LongInt,
	Place: meta.Place{Kind: meta.InAttrs, Column: "Code"},
}

func (c *checker) shapes() map[*meta.Type]*shape {
	all := map[*meta.Type]*shape{}
	_ = c.types(func(t *meta.Type) error {
		s := &shape{slots: make([]bool, len(c.all)), keys: map[string]*meta.Attr{}}
		for i, col := range c.all {
			s.slots[i] = col.Name == "scope_id" && t.Secured != (meta.Secured{})
		}
		for _, a := range slices.Concat(t.Attrs, t.Kept) {
			switch {
			case a.Place.Kind == meta.InColumn && a.Place.Slot >= 0:
				s.slots[a.Place.Slot] = true
			case a.Place.Kind == meta.InAttrs:
				s.keys[a.Place.Column] = a
			default:
				continue
			}
			if a.Required && !a.Custom { // a custom attribute is left out, because older assets may have no value for it
				s.required = append(s.required, a)
			}
		}
		if t.Metadata {
			s.keys[definitionCode.Place.Column] = definitionCode
		}
		all[t] = s
		return nil
	})
	return all
}

// attributes reports versions with a value for an attribute that their type does not have, with a
// value of the wrong kind, or without a value for a required attribute.
func (c *checker) attributes(ctx context.Context) error {
	shapes := c.shapes()
	var id, moment int64
	var code int
	into := []any{&id, &moment, &code}
	query := "SELECT v.id, v.moment, v.type, "
	slots := make([]longText, len(c.all))
	for i, col := range c.all {
		into = append(into, slots[i].into()...)
		query += ofChanged(col.Name) + ", "
	}
	var attrs longText
	into = append(into, attrs.into()...)
	query += ofChanged("attrs")
	var of *meta.Type         // the type of the version whose attrs were read last
	var given map[string]bool // the result of readAttrs for this version
	var unreadable error
	return c.eachIn(ctx, byVersion, func(scan row) error {
		if err := scan(into...); err != nil {
			return err
		}
		text := attrs.get()
		for i := range slots {
			slots[i].get()
		}
		t := c.concrete(code)
		if t == nil {
			of = nil
			return nil // the check "versions" reports it
		}
		s := shapes[t]
		for i := range slots {
			if slots[i].last.Valid && !s.slots[i] {
				err := c.report("asset_version", id,
					"moment %d has a value in the column %s, but no attribute of %s is stored there",
					moment, c.all[i].Name, t.Name)
				if err != nil {
					return err
				}
			}
		}
		if !attrs.isSame || t != of {
			given, unreadable = readAttrs(s, text.String)
			of = t
		}
		if unreadable != nil {
			return c.report("asset_version", id, "moment %d: attrs: %v", moment, unreadable)
		}
		for _, a := range s.required {
			has := given[a.Place.Column]
			if a.Place.Kind == meta.InColumn {
				has = slots[a.Place.Slot].last.String != ""
			}
			if !has && !c.seeds[id] {
				return c.report("asset_version", id, "moment %d has no %s", moment, a.Token())
			}
		}
		return nil
	}, query+fromVersions)
}

// readAttrs reads the JSON of a row. In the result, a key is true if its value is not the empty
// text. readAttrs returns an error for invalid JSON, an unknown key, or a value of the wrong kind.
func readAttrs(s *shape, text string) (given map[string]bool, err error) {
	given = map[string]bool{}
	err = value.Members(text, func(key string, v jsontext.Token) error {
		a, ok := s.keys[key]
		switch {
		case !ok:
			return fmt.Errorf("no attribute has the key %q", key)
		case v.Kind() != kindOf(a) && (kindOf(a) != 't' || v.Kind() != 'f'):
			return fmt.Errorf("%s is a %s, but its value is a JSON %s", a.Token(), a.Kind, v.Kind())
		}
		given[key] = v.Kind() != '"' || v.String() != ""
		return nil
	})
	return given, err
}

// kindOf returns the JSON kind of an attribute's values. It returns 't' for a Boolean, although
// false has the kind 'f'.
func kindOf(a *meta.Attr) jsontext.Kind {
	switch value.FormOf(a.Kind) {
	case value.Bool:
		return 't'
	case value.Int, value.Float:
		return '0'
	}
	return '"'
}
