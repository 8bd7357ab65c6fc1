package importer

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// assetType is the part of the description of an asset type that the importer needs.
type assetType struct {
	attributes map[string]attribute // by name
	keys       string               // the type that declares the attribute of keys; empty: the type has no such attribute
	base       string               // the base type; empty: none
}

// attribute is the part of the description of an attribute that the importer needs.
type attribute struct {
	AttributeType string
	IsReadOnly    bool
	IsMultivalue  bool
	RelatedAsset  typeRef
	ValidTypes    []typeRef // types that a relation allows; empty: all types of RelatedAsset
	Base          struct {
		Tokenref string `json:"tokenref"`
	}
}

// typeRef names a type.
type typeRef struct {
	Nameref string `json:"nameref"`
}

// model has the descriptions of types in the service. It reads each description once.
type model struct {
	client *client
	key    string                // the attribute of keys
	types  map[string]*assetType // by name; nil: the service has no such type
}

// of returns the description of a type. Errors: a problem for an unknown type; errors of the
// service.
func (m *model) of(ctx context.Context, name string) (*assetType, error) {
	if t, ok := m.types[name]; ok {
		if t == nil {
			return nil, problemf("there is no asset type %s", name)
		}
		return t, nil
	}
	var described struct {
		Base       typeRef
		Attributes map[string]attribute
	}
	err := m.client.get(ctx, "/meta.v1/"+url.PathEscape(name), &described)
	if err != nil {
		if isStatus(err, http.StatusNotFound) {
			m.types[name] = nil
			return m.of(ctx, name)
		}
		return nil, err
	}
	t := &assetType{attributes: map[string]attribute{}, base: described.Base.Nameref}
	for token, a := range described.Attributes {
		t.attributes[strings.TrimPrefix(token, name+".")] = a
	}
	m.types[name] = t
	a, ok := t.attributes[m.key]
	if !ok {
		return t, nil
	}
	t.keys = name
	if above, _, _ := strings.Cut(a.Base.Tokenref, "."); above != "" {
		base, err := m.of(ctx, above)
		if err != nil {
			return nil, err
		}
		t.keys = base.keys
	}
	return t, nil
}

// related returns the type of the assets to which a relation refers.
// Errors: a problem for an attribute that is not a relation; errors of the service.
func (m *model) related(ctx context.Context, typ, name string) (string, error) {
	t, err := m.of(ctx, typ)
	if err != nil {
		return "", err
	}
	if a, ok := t.attributes[name]; ok && a.RelatedAsset.Nameref != "" {
		return a.RelatedAsset.Nameref, nil
	}
	return "", problemf("%s.%s is not a relation", typ, name)
}

// takes reports whether a relation of a type allows assets of the type in the parameter value.
func (m *model) takes(ctx context.Context, typ, name, value string) (bool, error) {
	t, err := m.of(ctx, typ)
	if err != nil {
		return false, err
	}
	valid := t.attributes[name].ValidTypes
	if len(valid) == 0 {
		valid = []typeRef{t.attributes[name].RelatedAsset}
	}
	for value != "" {
		if slices.Contains(valid, typeRef{value}) {
			return true, nil
		}
		t, err := m.of(ctx, value)
		if err != nil {
			return false, err
		}
		value = t.base
	}
	return false, nil
}
