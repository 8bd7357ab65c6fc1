package pages

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// definition is what administrators have added to the model: an attribute or a list.
// Spec: interface 2.1.4.
type definition struct {
	Oid                                  string `json:"_oid"`
	Name, DisplayName, AssetState        string
	Of                                   string `json:"Asset.Name"`
	Kind                                 string `json:"AttributeType"`
	Related                              string `json:"RelatedAssetType.Name"`
	ReverseName                          string
	IsDateOnly, IsMultivalue, IsRequired bool
	IsDataDeleted                        bool

	MayRetire   bool `json:"CheckInactivate"`
	MayBring    bool `json:"CheckReactivate"`
	MayUndelete bool `json:"IsUndeletable"`
	MayPurge    bool `json:"CheckDeleteWithData"`
	MayChange   bool `json:"CanUpdate"`
}

// IsList reports whether it is a list.
func (d definition) IsList() bool { return strings.HasPrefix(d.Oid, listPrefix) }

// listPrefix begins the Oids of types.
const listPrefix = "AssetType:"

// State words the state of a definition for people.
func (d definition) State() string {
	switch {
	case d.IsDataDeleted:
		return "deleted with its data"
	case d.AssetState == "Deleted":
		return "deleted"
	case d.AssetState == "Closed":
		return "retired"
	}
	return "in use"
}

// anyState is the filter of definitions in any state, deleted ones too.
const anyState = "AssetState='Active','Closed','Deleted'"

// listsQuery and attributesQuery ask for definitions of administrators.
func listsQuery() query {
	return query{
		"from": "AssetType", "where": map[string]any{"IsCustom": true}, "filter": anyState, "sort": "Name",
		"select": []string{"Name", "DisplayName", "AssetState", "IsDataDeleted"},
	}
}

func attributesQuery() query {
	return query{
		"from": "AttributeDefinition", "where": map[string]any{"IsCustom": true}, "filter": anyState, "sort": "Name",
		"select": []string{
			"Name", "Asset.Name", "DisplayName", "AttributeType", "RelatedAssetType.Name", "ReverseName",
			"IsDateOnly", "IsMultivalue", "IsRequired", "AssetState", "IsDataDeleted",
		},
	}
}

// kinds are those of custom attributes. Spec: interface 2.2.8.
var kinds = []string{"Text", "LongText", "Numeric", "Date", "Boolean", "Relation"}

// customPage is what the page of custom attributes and lists shows.
type customPage struct {
	Attributes, Lists []definition
	Types             []string // that may be given attributes, for the forms
	Kinds             []string
	Refused           string // why the attribute was not made
	RefusedList       string
	Made              string // a list that was made without its values
	Attribute         newAttribute
	List              newList
}

// newAttribute is what the form of an attribute has.
type newAttribute struct {
	Name, Type, Kind, DisplayName, Related, ReverseName string
	DateOnly, Many, Required                            bool
}

// newList is what the form of a list has.
type newList struct{ Name, DisplayName, Values string }

// showCustom serves GET ui/model/custom.
func showCustom(v *visit) error {
	of, err := v.sought("type")
	if err != nil {
		return err
	}
	return v.customPage(customPage{Attribute: newAttribute{Type: of, Kind: "Text"}})
}

func (v *visit) customPage(page customPage) error {
	queries, into := []query{attributesQuery(), listsQuery()}, []any{&page.Attributes, &page.Lists}
	var types []struct{ Name string }
	if v.member.Administers() {
		queries, into = append(queries, query{"from": "AssetType", "filter": inUse, "select": "Name", "sort": "Name"}), append(into, &types)
		v.standCustom()
	}
	if err := v.api.find(queries, into...); err != nil {
		return err
	}
	for _, t := range types {
		page.Types = append(page.Types, t.Name)
	}
	slices.SortStableFunc(page.Attributes, func(a, b definition) int { return cmp.Compare(a.Of, b.Of) })
	page.Kinds = kinds
	page.Attribute.Name, page.List.Name = cmp.Or(page.Attribute.Name, "Custom_"), cmp.Or(page.List.Name, "Custom_")
	return v.render("modelcustom", "Custom attributes and lists", page)
}

// standCustom notes what the forms send.
func (v *visit) standCustom() {
	v.stands("api/asset?atomic=true", `[
  {"AssetType": "AttributeDefinition", "Name": "Custom_Weight", "Asset": "PrimaryWorkitem", "AttributeType": "Numeric", "DisplayName": "Weight"}
]`)
	v.stands("api/asset?atomic=true", `[
  {"AssetType": "AssetType", "Name": "Custom_OriginType", "Base": "List", "DisplayName": "Origin"}
]`)
	v.stands("api/asset?atomic=true", `[
  {"AssetType": "Custom_OriginType", "Name": "Customer"}
]`)
}

// formAttribute reads the form of an attribute.
func formAttribute(v *visit) newAttribute {
	return newAttribute{
		Name: v.field("name"), Type: v.field("type"), Kind: v.field("kind"), DisplayName: v.field("displayName"),
		Related: v.field("related"), ReverseName: v.field("reverseName"),
		DateOnly: v.field("dateOnly") != "", Many: v.field("many") != "", Required: v.field("required") != "",
	}
}

// command is the command that makes the attribute: what the form leaves open it does not
// say.
func (a newAttribute) command() map[string]any {
	c := map[string]any{"AssetType": "AttributeDefinition", "Name": a.Name, "Asset": a.Type, "AttributeType": a.Kind}
	for name, text := range map[string]string{"DisplayName": a.DisplayName, "RelatedAssetType": a.Related, "ReverseName": a.ReverseName} {
		if text != "" {
			c[name] = text
		}
	}
	for name, holds := range map[string]bool{"IsDateOnly": a.DateOnly, "IsMultivalue": a.Many, "IsRequired": a.Required} {
		if holds {
			c[name] = true
		}
	}
	return c
}

// createAttribute serves POST ui/model/attribute.
func createAttribute(v *visit) error {
	a := formAttribute(v)
	made, err := v.api.write(a.command())
	if refused, err := asFailure(err); err != nil {
		return err
	} else if refused != nil {
		v.status = refused.Status
		return v.customPage(customPage{Refused: readable(refused.Message), Attribute: a})
	}
	return v.toDefinition(made, "made")
}

// createList serves POST ui/model/list. Its values are made by a second request, since
// a request goes by the model as it was when it began.
func createList(v *visit) error {
	l := newList{Name: v.field("name"), DisplayName: v.field("displayName"), Values: v.r.PostForm.Get("values")}
	command := map[string]string{"AssetType": "AssetType", "Name": l.Name, "Base": "List"}
	if l.DisplayName != "" {
		command["DisplayName"] = l.DisplayName
	}
	page := customPage{List: l, Attribute: newAttribute{Kind: "Text"}}
	made, err := v.api.write(command)
	if names := valueNames(l.Values); err == nil && len(names) > 0 {
		if err = v.writeValues(l.Name, names); err != nil {
			page.Made, page.List.Name = l.Name, ""
		}
	}
	if refused, err := asFailure(err); err != nil {
		return err
	} else if refused != nil {
		v.status, page.RefusedList = refused.Status, readable(refused.Message)
		return v.customPage(page)
	}
	return v.toDefinition(made, "made")
}

// toDefinition leads to the page of a definition that was just made.
func (v *visit) toDefinition(made written, done string) error {
	if len(made.AssetsCreated.OidTokens) != 1 {
		return v.to("/ui/model/custom?done=" + done)
	}
	return v.to("/ui/model/custom/" + made.AssetsCreated.OidTokens[0] + "?done=" + done)
}

// valueNames are the names that a form gives, one a line.
func valueNames(text string) []string {
	var names []string
	for line := range strings.Lines(text) {
		if name := strings.TrimSpace(line); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// addValues serves POST ui/model/<list>: it adds values, all or none.
func addValues(v *visit) error {
	list, text := v.r.PathValue("type"), v.r.PostForm.Get("values")
	err := v.writeValues(list, valueNames(text))
	if refused, err := asFailure(err); err != nil {
		return err
	} else if refused != nil {
		v.status = refused.Status
		return v.typePage(typePage{Message: readable(refused.Message), Value: text})
	}
	return v.to("/ui/model/" + list + "?done=saved#values")
}

// maxNewValues is how many values a form makes.
const maxNewValues = 500

// writeValues adds values to a list, all or none. Errors: *failure.
func (v *visit) writeValues(list string, names []string) error {
	if len(names) == 0 || len(names) > maxNewValues {
		return &failure{Status: http.StatusBadRequest, Message: "Write 1 to 500 values, one a line."}
	}
	commands := make([]any, len(names))
	for i, name := range names {
		commands[i] = map[string]string{"AssetType": list, "Name": name}
	}
	_, err := v.api.write(commands...)
	return err
}

// example is a command as indented JSON, for the end of a page.
func example(command any) string {
	b, err := json.MarshalIndent([]any{command}, "", "  ")
	if err != nil {
		return ""
	}
	return string(b)
}
