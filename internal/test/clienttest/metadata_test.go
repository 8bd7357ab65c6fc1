package clienttest

import (
	"maps"
	"slices"
)

// model is the decoded answer of meta.v1.
type model struct{ AssetTypes map[string]*assetType }

// assetType is a type in the metadata. Its JSON has the key Name twice, so the tests read Token.
type assetType struct {
	Token              string
	Abstract, IsCustom bool
	Base               reference
	Attributes         map[string]*attribute
	Operations         map[string]*operation
}

type reference struct{ NameRef, TokenRef string }

type attribute struct {
	Name, Token, AttributeType         string
	IsReadOnly, IsRequired, IsCustom   bool
	IsMultivalue                       bool
	Base, ReciprocalRelation           reference
	RelatedAsset                       reference
	ValidTypes                         []reference
	OrderByAttribute, RelatedAttribute reference
}

type operation struct {
	Name      string
	Validator reference
	Arguments map[string]argument
}

type argument struct {
	Name, AttributeType string
	IsRequired          bool
	RelatedAsset        reference
}

// sorted returns the values of a map in the order of its keys.
func sorted[V any](of map[string]V) []V {
	all := make([]V, 0, len(of))
	for _, key := range slices.Sorted(maps.Keys(of)) {
		all = append(all, of[key])
	}
	return all
}

// creatable reports whether assets of a type can be created. That is true if the type is not abstract and
// has a writable attribute.
func (t *assetType) creatable() bool {
	return !t.Abstract && slices.ContainsFunc(sorted(t.Attributes), func(a *attribute) bool { return !a.IsReadOnly })
}

// isA reports whether the type name is the type other or a subtype of it.
func (m *model) isA(name, other string) bool {
	for ; name != ""; name = m.AssetTypes[name].Base.NameRef {
		if name == other {
			return true
		}
	}
	return false
}

// concrete returns the type name, if it is not abstract, and all its subtypes that are not abstract.
func (m *model) concrete(name string) []string {
	var all []string
	for _, t := range sorted(m.AssetTypes) {
		if !t.Abstract && m.isA(t.Token, name) {
			all = append(all, t.Token)
		}
	}
	return all
}

// targets returns the concrete types of the assets that a relation accepts.
func (m *model) targets(a *attribute) []string {
	if a.ValidTypes == nil {
		return m.concrete(a.RelatedAsset.NameRef)
	}
	var all []string
	for _, t := range a.ValidTypes {
		all = append(all, m.concrete(t.NameRef)...)
	}
	return all
}

// attribute returns the attribute with a token, such as "Story.Name", or nil if there is none.
func (m *model) attribute(token string) *attribute {
	if t := m.AssetTypes[typeOf(token)]; t != nil {
		return t.Attributes[token]
	}
	return nil
}

func (a *attribute) isRelation() bool { return a.AttributeType == "Relation" }

// holder returns a type that can write the other side of a multi-value relation: it has a writable
// single-value relation whose reciprocal is a. It returns nil if there is no such type. Metadata calls the
// multi-value relation read-only, because a write to it changes other assets. Bulk requests accept this
// write.
// Spec: interface 4.3.4.
func (m *model) holder(typ string, a *attribute) *assetType {
	back := m.attribute(a.ReciprocalRelation.TokenRef)
	if back == nil || !a.IsReadOnly || !a.IsMultivalue {
		return nil
	}
	for _, name := range m.targets(a) {
		t := m.AssetTypes[name]
		of := t.Attributes[name+"."+back.Name]
		if t.creatable() && of != nil && !m.isOnce(of) && !of.IsReadOnly && !of.IsMultivalue && slices.Contains(m.targets(of), typ) {
			return t
		}
	}
	return nil
}
