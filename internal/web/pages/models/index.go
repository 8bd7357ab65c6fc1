package models

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/web/ui"
)

// model has the names of types, attributes and operations, and the types that declare them.
type model struct {
	types      []*modelType
	byName     map[string]*modelType
	attributes []modelPart
	operations []modelPart
}

// modelType is a type as the metadata describes it. Spec: interface 2.1.1.
type modelType struct {
	Oid         string `json:"_oid"`
	Name        string
	Base        string `json:"Base.Name"`
	DisplayName string
	IsCustom    bool
	Attributes  int `json:"AttributeDefinitions.@Count,string"`
	Operations  int `json:"Operations.@Count,string"`
}

// modelPart is an attribute or operation with the type that declares it.
type modelPart struct {
	Name        string
	Of          string `json:"Asset.Name"`
	DisplayName string
	Kind        string `json:"AttributeType"`
	Related     string `json:"RelatedAssetType.Name"`
	ReverseName string // of a custom relation: name of the reverse relation, which has no definition of its own
	IsCustom    bool
}

// inUse is the filter for definitions that are neither retired nor deleted.
const inUse = "AssetState='Active'"

// typesQuery selects all types in use.
func typesQuery() ui.Query {
	return ui.Query{
		"from": "AssetType", "filter": inUse,
		"select": []string{"Name", "Base.Name", "DisplayName", "IsCustom", "AttributeDefinitions.@Count", "Operations.@Count"},
	}
}

// readModel reads all types. If whole is true, it also reads all attributes and operations. A type,
// attribute or operation without a display name gets the text that the interface has for it.
func readModel(v *ui.Visit, whole bool) (*model, error) {
	m := &model{byName: map[string]*modelType{}}
	queries, into := []ui.Query{typesQuery()}, []any{&m.types}
	if whole {
		queries = append(queries,
			ui.Query{"from": "AttributeDefinition", "filter": inUse, "select": []string{"Name", "Asset.Name", "DisplayName", "AttributeType", "RelatedAssetType.Name", "ReverseName", "IsCustom"}},
			ui.Query{"from": "Operation", "select": []string{"Name", "Asset.Name"}})
		into = append(into, &m.attributes, &m.operations)
	}
	if err := v.API.Find(queries, into...); err != nil {
		return nil, err
	}
	for _, t := range m.types {
		m.byName[t.Name] = t
	}
	for _, a := range m.attributes {
		if a.IsCustom && a.ReverseName != "" {
			m.attributes = append(m.attributes, modelPart{Name: a.ReverseName, Of: a.Related, Kind: a.Kind, Related: a.Of, IsCustom: true})
		}
	}
	return m, nameModel(v, m)
}

// nameModel sets the missing display names of a model.
func nameModel(v *ui.Visit, m *model) error {
	names := map[string]*string{}
	for _, t := range m.types {
		if t.DisplayName == "" {
			names["AssetType'"+t.Name] = &t.DisplayName
		}
	}
	for i := range m.attributes {
		if a := &m.attributes[i]; a.DisplayName == "" {
			names["AttributeDefinition'"+a.Name+"'"+a.Of] = &a.DisplayName
		}
	}
	for i := range m.operations {
		o := &m.operations[i]
		names["Operation'"+o.Name+"'"+o.Of] = &o.DisplayName
	}
	return localize(v, names)
}

// localize reads the texts of tags and sets them. The requests are long and add no
// information, so the footer does not show them. Spec: interface 4.10.
func localize(v *ui.Visit, names map[string]*string) error {
	tags := slices.Collect(maps.Keys(names))
	quiet := v.Quiet()
	for len(tags) > 0 {
		some := tags[:min(ui.MaxWords, len(tags))]
		tags = tags[len(some):]
		var texts map[string]string
		err := quiet.Do(http.MethodGet, "loc-2.v1/?["+url.QueryEscape(strings.Join(some, ","))+"]", nil, &texts)
		if err := ui.IgnoreRefusal(err); err != nil {
			return err
		}
		for _, tag := range some {
			*names[tag] = texts[tag]
		}
	}
	return nil
}
