package importer

import (
	"context"
	"net/http"
	"net/url"
	"strings"
)

// assetType is what matters here of the description of an asset type.
type assetType struct {
	attributes map[string]attribute
	keys       string // the type that declares the attribute of keys; empty: the type has none
}

// attribute is what matters here of the description of an attribute.
type attribute struct {
	IsReadOnly   bool
	IsMultivalue bool
	RelatedAsset struct {
		Nameref string `json:"nameref"`
	}
	Base struct {
		Tokenref string `json:"tokenref"`
	}
}

// model is what the service says of its types, each read once.
type model struct {
	client *client
	key    string // the attribute of keys
	types  map[string]*assetType
}

// of describes a type. Errors: one that says that there is none.
func (m *model) of(ctx context.Context, name string) (*assetType, error) {
	if t, ok := m.types[name]; ok {
		if t == nil {
			return nil, problemf("there is no asset type %s", name)
		}
		return t, nil
	}
	var described struct{ Attributes map[string]attribute }
	err := m.client.get(ctx, "/meta.v1/"+url.PathEscape(name), &described)
	if err != nil {
		if isStatus(err, http.StatusNotFound) {
			m.types[name] = nil
			return m.of(ctx, name)
		}
		return nil, err
	}
	t := &assetType{attributes: map[string]attribute{}}
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

// related is the type to which a relation leads. Errors: one that says that the
// attribute is none.
func (m *model) related(ctx context.Context, typ, name string) (string, error) {
	t, err := m.of(ctx, typ)
	if err != nil {
		return "", err
	}
	if a, ok := t.attributes[name]; ok && a.RelatedAsset.Nameref != "" {
		return a.RelatedAsset.Nameref, nil
	}
	return "", problemf("%s.%s is no relation", typ, name)
}
