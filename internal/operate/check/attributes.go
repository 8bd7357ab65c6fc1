package check

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/store/db"
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
	names := []string{"id", "moment", "type"}
	for _, col := range c.all {
		names = append(names, col.Name)
	}
	var id, moment int64
	var code int
	slots := make([]sql.RawBytes, len(c.all))
	var attrs sql.RawBytes
	into := []any{&id, &moment, &code}
	for i := range slots {
		into = append(into, &slots[i])
	}
	into = append(into, &attrs)
	return c.eachIn(ctx, byVersion, func(scan row) error {
		if err := scan(into...); err != nil {
			return err
		}
		t := c.concrete(code)
		if t == nil {
			return nil // the check "versions" reports it
		}
		s := shapes[t]
		for i, v := range slots {
			if v != nil && !s.slots[i] {
				err := c.report("asset_version", id,
					"moment %d has a value in the column %s, but no attribute of %s is stored there",
					moment, c.all[i].Name, t.Name)
				if err != nil {
					return err
				}
			}
		}
		given, err := readAttrs(s, attrs)
		if err != nil {
			return c.report("asset_version", id, "moment %d: attrs: %v", moment, err)
		}
		for _, a := range s.required {
			has := given[a.Place.Column]
			if a.Place.Kind == meta.InColumn {
				has = len(slots[a.Place.Slot]) > 0
			}
			if !has && !c.seeds[id] {
				return c.report("asset_version", id, "moment %d has no %s", moment, a.Token())
			}
		}
		return nil
	}, `SELECT `+db.OfVersions("v", append(names, "attrs"))+` FROM asset_version v WHERE {v.id} ORDER BY v.id, v.moment`)
}

// readAttrs reads the JSON of a row. In the result, a key is true if its value is not the empty
// text. readAttrs returns an error for invalid JSON, an unknown key, or a value of the wrong kind.
func readAttrs(s *shape, text []byte) (given map[string]bool, err error) {
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
