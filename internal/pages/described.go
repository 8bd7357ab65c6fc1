package pages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// described is the model as the interface describes it. Spec: interface 2.4.
type described struct {
	tag   string // its ETag
	types map[string]*describedType
}

// describedType is one asset type.
type describedType struct {
	Token            string
	DisplayName      string
	Abstract         bool
	Base             struct{ Nameref string }
	DefaultOrderBy   attributeRef
	DefaultDisplayBy attributeRef
	ShortName        attributeRef
	Attributes       inOrder
	Operations       map[string]*describedOperation

	byName map[string]*describedAttribute
	below  []*describedType // concrete types below an abstract one
}

// attributeRef is a reference to an attribute.
type attributeRef struct{ Tokenref string }

// path is the token without the type before it.
func (r attributeRef) path() string {
	_, path, _ := strings.Cut(r.Tokenref, ".")
	return path
}

// describedAttribute is an attribute of a type.
type describedAttribute struct {
	Name, Token, DisplayName, AttributeType string
	IsReadOnly, IsRequired, IsMultivalue    bool
	IsCustom                                bool
	Base, ReciprocalRelation                attributeRef
	DisplayByAttribute                      attributeRef
	RelatedAsset                            struct{ Nameref string }
	ValidTypes                              []struct{ Nameref string }
}

// describedOperation is an operation of a type.
type describedOperation struct {
	Name      string
	Validator attributeRef
	Arguments map[string]struct {
		Name, AttributeType string
		IsRequired          bool
	}
}

func (a *describedAttribute) isRelation() bool { return a.AttributeType == "Relation" }

// toOne and toMany are the two forms of a relation.
func (a *describedAttribute) toOne() bool  { return a.isRelation() && !a.IsMultivalue }
func (a *describedAttribute) toMany() bool { return a.isRelation() && a.IsMultivalue }

// isClosure reports whether a relation follows another one of the type over all its
// levels. Spec: interface 2.2.6.
func (t *describedType) isClosure(a *describedAttribute) bool {
	for _, end := range []string{"MeAndUp", "MeAndDown", "AndUp", "AndDown", "AndMe"} {
		if stem, found := strings.CutSuffix(a.Name, end); found && t.byName[stem] != nil {
			return true
		}
	}
	return false
}

// isDown reports whether a relation leads to the assets right below one in a hierarchy.
func (t *describedType) isDown(a *describedAttribute) bool {
	return a.toMany() && t.byName[a.Name+"AndDown"] != nil
}

// inOrder are attributes in the order in which a type declares them.
type inOrder []*describedAttribute

// UnmarshalJSON reads the values of a map in their order.
func (l *inOrder) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		if _, err := d.Token(); err != nil {
			return err
		}
		var a describedAttribute
		if err := d.Decode(&a); err != nil {
			return err
		}
		*l = append(*l, &a)
	}
	return nil
}

// has reports whether rows of the type, or of some below it, have an attribute, and all
// of them in one form, so that a query may name it. Spec: interface 2.2.5.
func (t *describedType) has(name string) bool {
	if t.byName[name] != nil {
		return true
	}
	var first *describedAttribute
	for _, one := range t.below {
		switch a := one.byName[name]; {
		case a == nil:
		case first == nil:
			first = a
		case a.AttributeType != first.AttributeType || a.IsMultivalue != first.IsMultivalue:
			return false
		}
	}
	return first != nil
}

// isA reports whether a type is another one or stands below it.
func (d *described) isA(name, above string) bool {
	for t := d.types[name]; t != nil; t = d.types[t.Base.Nameref] {
		if t.Token == above {
			return true
		}
	}
	return false
}

// models keeps the description that was read last.
type models struct {
	mutex sync.Mutex
	last  *described
}

// described returns the model. It is read again when it has changed.
func (v *visit) described() (*described, error) {
	m := &v.p.models
	m.mutex.Lock()
	last := m.last
	m.mutex.Unlock()
	header := http.Header{}
	if last != nil {
		header.Set("If-None-Match", last.tag)
	}
	quiet := v.asking(v.api.authorization) // the same for every asset, so not shown
	answer, err := quiet.with(header, http.MethodGet, "meta.v1", "", nil)
	switch {
	case err != nil:
		return nil, err
	case answer.status == http.StatusNotModified:
		return last, nil
	case answer.status >= http.StatusBadRequest:
		return nil, answer.failure()
	}
	fresh, err := readDescribed(answer.body)
	if err != nil {
		return nil, err
	}
	fresh.tag = answer.header.Get("ETag")
	m.mutex.Lock()
	m.last = fresh
	m.mutex.Unlock()
	return fresh, nil
}

// readDescribed reads the description of all types.
func readDescribed(body []byte) (*described, error) {
	var all struct{ AssetTypes map[string]*describedType }
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, fmt.Errorf("read the metadata: %w", err)
	}
	d := &described{types: all.AssetTypes}
	for _, t := range d.types {
		t.byName = make(map[string]*describedAttribute, len(t.Attributes))
		for _, a := range t.Attributes {
			t.byName[a.Name] = a
		}
	}
	for _, t := range d.types {
		if t.Abstract {
			continue
		}
		for above := d.types[t.Base.Nameref]; above != nil; above = d.types[above.Base.Nameref] {
			above.below = append(above.below, t)
		}
	}
	return d, nil
}
