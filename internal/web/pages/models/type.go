package models

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/web/ui"
)

// tokenReference refers to an attribute. Spec: interface 2.4.
type tokenReference struct {
	Token string `json:"tokenref"`
}

// Type returns the type of the attribute.
func (r tokenReference) Type() string { t, _, _ := strings.Cut(r.Token, "."); return t }

// Name returns the name of the attribute, or a path from its type.
func (r tokenReference) Name() string { _, n, _ := strings.Cut(r.Token, "."); return n }

// typeReference refers to a type.
type typeReference struct {
	Name string `json:"nameref"`
}

// typeDescription is a type as meta.v1 describes it. Spec: interface 2.4.
type typeDescription struct {
	Name                             json.RawMessage // occurs twice in the answer: as a text and as a tokenReference
	Token                            string
	DisplayName                      string
	Abstract, IsCustom               bool
	Base                             typeReference
	DefaultOrderBy, DefaultDisplayBy tokenReference
	ShortName, Description           tokenReference
	Attributes                       map[string]*attribute
	Operations                       map[string]*typeOperation
}

// attribute is an attribute of a type as meta.v1 describes it, with data from
// AttributeDefinition assets.
type attribute struct {
	Name, DisplayName, AttributeType               string
	IsReadOnly, IsRequired, IsMultivalue, IsCustom bool
	Base, ReciprocalRelation, OrderByAttribute     tokenReference
	RelatedAsset                                   typeReference
	ValidTypes                                     []typeReference

	Declared string       `json:"-"` // the type that declares or overrides it
	Defined  attributeRow `json:"-"`
}

// typeOperation is an operation of a type as meta.v1 describes it, with data from Operation
// assets.
type typeOperation struct {
	Name      string
	Validator tokenReference
	Arguments map[string]*typeArgument

	DisplayName string   `json:"-"`
	Declared    string   `json:"-"`
	When        []string `json:"-"` // conditions in words
	Filter      string   `json:"-"` // the other conditions, as a filter
	Effect      string   `json:"-"`
	Roles       []string `json:"-"` // roles that may run it; empty: not specified
}

// typeArgument is an argument of an operation.
type typeArgument struct {
	Name, AttributeType string
	IsRequired          bool
	RelatedAsset        typeReference
}

// attributeRow is an AttributeDefinition asset.
type attributeRow struct {
	Oid         string `json:"_oid"`
	Name        string
	Of          string `json:"Asset.Name"`
	DisplayName string
	IsDateOnly  bool
	Calculation string
	Operation   string // for a validator: the operation that it belongs to
}

// Computed reports whether the value is computed. That is the case for a synthetic attribute, a
// validator, and the closure of a hierarchy.
func (r attributeRow) Computed() bool {
	switch kind, _, _ := strings.Cut(r.Oid, ":"); kind {
	case "SyntheticAttributeDefinition", "ExecuteSecurityCheckAttributeDefinition":
		return true
	case "HierarchyRelationDefinition":
		return strings.HasSuffix(r.Name, "AndMe") || strings.HasSuffix(r.Name, "AndUp") || strings.HasSuffix(r.Name, "AndDown")
	}
	return false
}

// Filter returns the expression from which the value is computed, or "" if the model has none.
func (r attributeRow) Filter() string {
	if r.Calculation == r.Name {
		return ""
	}
	return r.Calculation
}

// operationRow is an Operation asset.
type operationRow struct {
	Name   string
	Of     string `json:"Asset.Name"`
	Rights int64  `json:"ExecuteRights,string"`
}

// maxValues limits the values of a list that the page shows.
const maxValues = 200

// listValue is a value of a list.
type listValue struct {
	Oid         string `json:"_oid"`
	Name        string
	Description string
	AssetState  string
}

// typePage is the data of the page of a type.
type typePage struct {
	*typeDescription
	Text    string       // display name
	Oid     string       // Oid of the AssetType asset
	Above   []*modelType // ancestors, the nearest first
	Below   []*modelType
	Groups  []attributeGroup
	Count   int // number of all attributes
	Find    string
	Shown   int  // number of attributes that match Find
	List    bool // assets of the type are values of a list
	Values  []listValue
	More    bool // there are more values than Values has
	Message string
	Value   string // input of the form for new values
	Request string // query for the link to the console
	Sorted  []*typeOperation
}

// attributeGroup has the attributes that the type inherits from one type, or declares itself.
type attributeGroup struct {
	From       string
	Own        bool
	Attributes []*attribute
}

// showType serves GET ui/model/<type> and GET meta.v1/<Type>?xsl=….
func showType(v *ui.Visit) error { return renderType(v, typePage{}) }

func renderType(v *ui.Visit, page typePage) error {
	name := v.Request.PathValue("type")
	page.typeDescription = &typeDescription{}
	if err := v.API.Get("meta.v1/"+url.PathEscape(name), page.typeDescription); err != nil {
		return err
	}
	var err error
	if page.Find, err = sought(v, "find"); err != nil {
		return err
	}
	if err := describeType(v, &page); err != nil {
		return err
	}
	page.Groups = groups(page.Token, page.Attributes, page.Find, page.Above)
	page.Count = len(page.Attributes)
	for _, g := range page.Groups {
		page.Shown += len(g.Attributes)
	}
	page.Request = consoleQuery(page.typeDescription)
	if err := readValues(v, &page); err != nil {
		return err
	}
	if v.IsPart() {
		return v.RenderPart("type", "attributes", &page)
	}
	if v.Member.Administers() && page.List {
		v.Sends("api/asset?atomic=true", example(map[string]string{"AssetType": page.Token, "Name": "A new value"}))
	}
	return v.Render("type", page.Token, &page)
}

// describeType adds data from the metadata assets to the description of a type.
func describeType(v *ui.Visit, page *typePage) error {
	var types []*modelType
	var defined, changed []attributeRow
	var operations []operationRow
	var roles []role
	of := map[string]string{"Asset.AssetTypesMeAndDown.Name": page.Token}
	err := v.API.Find([]ui.Query{
		typesQuery(),
		{"from": "AttributeDefinition", "where": of, "filter": inUse, "select": []string{"Name", "Asset.Name", "DisplayName", "IsDateOnly", "Calculation", "Operation"}},
		{"from": "Override", "where": of, "select": []string{"Name", "Asset.Name", "Calculation"}},
		{"from": "Operation", "where": of, "select": []string{"Name", "Asset.Name", "ExecuteRights"}},
		{"from": "Role", "select": []string{"Name"}},
	}, &types, &defined, &changed, &operations, &roles)
	if err != nil {
		return err
	}
	page.stand(types)
	page.define(defined, changed)
	page.operate(operations, roles)
	return nameType(v, page)
}

// stand sets the ancestors and the direct subtypes of the type.
func (p *typePage) stand(types []*modelType) {
	m := model{types: types, byName: map[string]*modelType{}}
	for _, t := range types {
		m.byName[t.Name] = t
		if t.Name == p.Token {
			p.Oid = t.Oid
		}
		if t.Base == p.Token && t.Name != p.Token {
			p.Below = append(p.Below, t)
		}
	}
	for _, name := range m.above(p.Token) {
		p.List = p.List || name == "List" && p.Token != "List"
		if name != p.Token {
			p.Above = append(p.Above, m.byName[name])
		}
	}
	slices.SortFunc(p.Below, func(a, b *modelType) int { return cmp.Compare(a.Name, b.Name) })
}

// define sets where each attribute is declared and how it is computed. An override in a type takes
// precedence over the attribute in an ancestor.
func (p *typePage) define(defined, changed []attributeRow) {
	rows := map[string]attributeRow{}  // key: token of the attribute
	first := map[string]attributeRow{} // key: name of the attribute; value: row of the type that declares it
	for _, row := range defined {
		rows[row.Of+"."+row.Name] = row
		first[row.Name] = row
	}
	for _, row := range changed {
		whole := first[row.Name]
		if row.Calculation != "" {
			whole.Calculation = row.Calculation
		}
		rows[row.Of+"."+row.Name] = whole
	}
	for _, a := range p.Attributes {
		a.Declared = cmp.Or(a.Base.Type(), p.Token)
		a.Defined = rows[a.Declared+"."+a.Name]
	}
}

// nameType sets the display names of the type and of its parts.
func nameType(v *ui.Visit, page *typePage) error {
	names := map[string]*string{page.DisplayName: &page.Text}
	for _, a := range page.Attributes {
		names[a.DisplayName] = &a.DisplayName
	}
	for _, o := range page.Sorted {
		names["Operation'"+o.Name+"'"+page.Token] = &o.DisplayName
	}
	for _, t := range slices.Concat(page.Above, page.Below) {
		names["AssetType'"+t.Name] = &t.DisplayName
	}
	return localize(v, names)
}

// readValues reads the values if the type is a list.
func readValues(v *ui.Visit, page *typePage) error {
	if !page.List || page.Abstract || v.IsPart() {
		return nil
	}
	err := v.API.Find([]ui.Query{{
		"from": page.Token, "filter": "AssetState='Active','Closed'", "select": []string{"Name", "Description", "AssetState"},
		"sort": []string{"Order"}, "page": map[string]int{"start": 0, "size": maxValues + 1},
	}}, &page.Values)
	if page.More = len(page.Values) > maxValues; page.More {
		page.Values = page.Values[:maxValues]
	}
	return err
}

// groups returns the attributes of a type, grouped by the type that declares or overrides them. The
// group of the type itself comes first, then those of its ancestors, the nearest first. It keeps
// attributes whose name or display name contains the search text, or whose kind equals the search
// text.
func groups(own string, attributes map[string]*attribute, text string, above []*modelType) []attributeGroup {
	all := []attributeGroup{{From: own, Own: true}}
	place := map[string]int{own: 0}
	for _, t := range above {
		place[t.Name] = len(all)
		all = append(all, attributeGroup{From: t.Name})
	}
	for _, a := range attributes {
		i, known := place[a.Declared]
		if _, fits := matches(text, a.Name, a.DisplayName); !known || !fits && !strings.EqualFold(text, a.AttributeType) {
			continue
		}
		all[i].Attributes = append(all[i].Attributes, a)
	}
	for _, g := range all {
		slices.SortFunc(g.Attributes, func(a, b *attribute) int { return cmp.Compare(a.Name, b.Name) })
	}
	return slices.DeleteFunc(all, func(g attributeGroup) bool { return len(g.Attributes) == 0 })
}

// consoleQuery returns a query of the type for the console. It selects the number, the display
// attribute and the required attributes.
func consoleQuery(t *typeDescription) string {
	chosen := []string{}
	for _, a := range t.Attributes {
		if a.Name == "Number" || a.Name == t.DefaultDisplayBy.Name() || a.IsRequired && a.AttributeType != "Password" {
			chosen = append(chosen, a.Name)
		}
	}
	slices.Sort(chosen)
	q := struct {
		From   string         `json:"from"`
		Select []string       `json:"select"`
		Page   map[string]int `json:"page"`
	}{t.Token, chosen, map[string]int{"start": 0, "size": 20}}
	b, err := json.MarshalIndent(q, "", "  ")
	if err != nil {
		return ""
	}
	return string(b)
}

// Lineage returns the ancestors, starting at the root.
func (p *typePage) Lineage() []*modelType {
	all := slices.Clone(p.Above)
	slices.Reverse(all)
	return all
}

// Flags returns the properties of an attribute as text. A computed attribute is not also
// marked as read-only.
func (a *attribute) Flags() string {
	var all []string
	for _, flag := range []struct {
		holds bool
		word  string
	}{
		{a.IsRequired, "required"},
		{a.IsReadOnly && !a.Defined.Computed(), "read-only"},
		{a.IsMultivalue, "many"},
		{a.Defined.Computed(), "computed"},
		{a.Defined.IsDateOnly, "day"},
		{a.IsCustom, "custom"},
	} {
		if flag.holds {
			all = append(all, flag.word)
		}
	}
	return strings.Join(all, ", ")
}

// key is an attribute with a special role in the type, such as its name.
type key struct{ Word, Name string }

// Keys returns the attributes with a special role in the type.
func (p *typePage) Keys() []key {
	var name tokenReference
	_ = json.Unmarshal(p.Name, &name) // fails without effect if the type has no name attribute
	var all []key
	for _, k := range []key{
		{"Name", name.Name()},
		{"Short name", p.ShortName.Name()},
		{"Shown by", p.DefaultDisplayBy.Name()},
		{"Sorted by", p.DefaultOrderBy.Name()},
		{"Description", p.Description.Name()},
	} {
		if k.Name != "" {
			all = append(all, k)
		}
	}
	return all
}
