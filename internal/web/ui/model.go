package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// Model is the model as the interface describes it. Spec: interface 2.4.
type Model struct {
	tag   string // ETag of the description
	Types map[string]*Type
}

// Type is one asset type.
type Type struct {
	Token          string
	Abstract       bool
	Base           struct{ Nameref string }
	DefaultOrderBy attributeRef
	Attributes     inOrder
	Operations     map[string]*Operation

	ByName map[string]*Attribute
	below  []*Type // concrete types below this type
}

// attributeRef is a reference to an attribute.
type attributeRef struct{ Tokenref string }

// Path returns the token without the type at its start.
func (r attributeRef) Path() string {
	_, path, _ := strings.Cut(r.Tokenref, ".")
	return path
}

// Attribute is an attribute of a type.
type Attribute struct {
	Name, DisplayName, AttributeType     string
	IsReadOnly, IsRequired, IsMultivalue bool
	Base, ReciprocalRelation             attributeRef
	RelatedAsset                         struct{ Nameref string }
	ValidTypes                           []struct{ Nameref string }
}

// Operation is an operation of a type.
type Operation struct {
	Name      string
	Validator attributeRef
	Arguments map[string]struct {
		Name, AttributeType string
		IsRequired          bool
	}
}

// IsRelation reports whether the values of the attribute are assets.
func (a *Attribute) IsRelation() bool { return a.AttributeType == "Relation" }

// ToOne reports whether the attribute is a relation with at most one value.
func (a *Attribute) ToOne() bool { return a.IsRelation() && !a.IsMultivalue }

// ToMany reports whether the attribute is a relation with many values.
func (a *Attribute) ToMany() bool { return a.IsRelation() && a.IsMultivalue }

// IsClosure reports whether a relation follows another relation of the type over all levels,
// such as ParentAndUp. Spec: interface 2.2.6.
func (t *Type) IsClosure(a *Attribute) bool {
	for _, end := range []string{"MeAndUp", "MeAndDown", "AndUp", "AndDown", "AndMe"} {
		if stem, found := strings.CutSuffix(a.Name, end); found && t.ByName[stem] != nil {
			return true
		}
	}
	return false
}

// IsDown reports whether the values of a relation are the direct children in a hierarchy.
func (t *Type) IsDown(a *Attribute) bool {
	return a.ToMany() && t.ByName[a.Name+"AndDown"] != nil
}

// inOrder has attributes in the order in which the type declares them.
type inOrder []*Attribute

// UnmarshalJSON decodes the values of a JSON object in their order and drops the keys.
func (l *inOrder) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		if _, err := d.Token(); err != nil {
			return err
		}
		var a Attribute
		if err := d.Decode(&a); err != nil {
			return err
		}
		*l = append(*l, &a)
	}
	return nil
}

// Has reports whether a query from this type may name the attribute. That is the case if the type
// itself has the attribute. It is also the case if at least one concrete type below has it, and all
// of those that have it agree on its form. Spec: interface 2.2.5.
func (t *Type) Has(name string) bool {
	if t.ByName[name] != nil {
		return true
	}
	var first *Attribute
	for _, one := range t.below {
		switch a := one.ByName[name]; {
		case a == nil:
		case first == nil:
			first = a
		case a.AttributeType != first.AttributeType || a.IsMultivalue != first.IsMultivalue:
			return false
		}
	}
	return first != nil
}

// IsA reports whether a type is the other type or derives from it.
func (d *Model) IsA(name, above string) bool {
	for t := d.Types[name]; t != nil; t = d.Types[t.Base.Nameref] {
		if t.Token == above {
			return true
		}
	}
	return false
}

// models caches the last description.
type models struct {
	mutex sync.Mutex
	last  *Model
}

// Model returns the model. It asks the interface each time, but decodes the answer only after
// a change.
func (v *Visit) Model() (*Model, error) {
	m := &v.Site.models
	m.mutex.Lock()
	last := m.last
	m.mutex.Unlock()
	header := http.Header{}
	if last != nil {
		header.Set("If-None-Match", last.tag)
	}
	quiet := v.Quiet() // the same for every asset, so not shown
	answer, err := quiet.With(header, http.MethodGet, "meta.v1", "", nil)
	switch {
	case err != nil:
		return nil, err
	case answer.Status == http.StatusNotModified:
		return last, nil
	case answer.Status >= http.StatusBadRequest:
		return nil, answer.Err()
	}
	fresh, err := ReadDescribed(answer.Body)
	if err != nil {
		return nil, err
	}
	fresh.tag = answer.Header.Get("ETag")
	m.mutex.Lock()
	m.last = fresh
	m.mutex.Unlock()
	return fresh, nil
}

// ReadDescribed decodes the description of all types, as meta.v1 returns it.
func ReadDescribed(body []byte) (*Model, error) {
	var all struct{ AssetTypes map[string]*Type }
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, fmt.Errorf("read the metadata: %w", err)
	}
	d := &Model{Types: all.AssetTypes}
	for _, t := range d.Types {
		t.ByName = make(map[string]*Attribute, len(t.Attributes))
		for _, a := range t.Attributes {
			t.ByName[a.Name] = a
		}
	}
	for _, t := range d.Types {
		if t.Abstract {
			continue
		}
		for above := d.Types[t.Base.Nameref]; above != nil; above = d.Types[above.Base.Nameref] {
			above.below = append(above.below, t)
		}
	}
	return d, nil
}
