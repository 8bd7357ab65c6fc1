package models

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/web/ui"
)

// definition is an attribute or a list that administrators added to the model. Spec: interface
// 2.1.4.
type definition struct {
	Oid                                  string `json:"_oid"`
	Name, DisplayName, AssetState        string
	Of                                   string `json:"Asset.Name"`
	Kind                                 string `json:"AttributeType"`
	Related                              string `json:"RelatedAssetType.Name"`
	RelatedState                         string `json:"RelatedAssetType.AssetState"`
	ReverseName                          string
	IsDateOnly, IsMultivalue, IsRequired bool
	IsDataDeleted                        bool

	MayRetire   bool `json:"CheckInactivate"`
	MayBring    bool `json:"CheckReactivate"`
	MayUndelete bool `json:"IsUndeletable"`
	MayPurge    bool `json:"CheckDeleteWithData"`
	MayChange   bool `json:"CanUpdate"`
}

// IsList reports whether the definition is a list.
func (d definition) IsList() bool { return strings.HasPrefix(d.Oid, listPrefix) }

// listPrefix is the prefix of the Oids of lists, which are types.
const listPrefix = "AssetType:"

// State returns the state of a definition as a text.
func (d definition) State() string {
	switch {
	case d.IsDataDeleted:
		return "deleted with its data"
	case d.AssetState == "Deleted":
		return "deleted"
	case d.AssetState == "Closed":
		return "retired"
	case d.RelatedState == "Closed":
		return "out of use, as its list is retired"
	}
	return "in use"
}

// anyState is a filter that matches definitions in every state, including deleted ones.
const anyState = "AssetState='Active','Closed','Deleted'"

// listsQuery and attributesQuery select the definitions of administrators.
func listsQuery() ui.Query {
	return ui.Query{
		"from": "AssetType", "where": map[string]any{"IsCustom": true}, "filter": anyState, "sort": "Name",
		"select": []string{"Name", "DisplayName", "AssetState", "IsDataDeleted"},
	}
}

func attributesQuery() ui.Query {
	return ui.Query{
		"from": "AttributeDefinition", "where": map[string]any{"IsCustom": true}, "filter": anyState, "sort": "Name",
		"select": []string{
			"Name", "Asset.Name", "DisplayName", "AttributeType", "RelatedAssetType.Name", "RelatedAssetType.AssetState", "ReverseName",
			"IsDateOnly", "IsMultivalue", "IsRequired", "AssetState", "IsDataDeleted",
		},
	}
}

// kinds are the possible kinds of custom attributes. Spec: interface 2.2.8.
var kinds = []string{"Text", "LongText", "Numeric", "Date", "Boolean", "Relation"}

// customPage is the data of the page with custom attributes and lists.
type customPage struct {
	Attributes, Lists []definition
	Types             []string // types that can get attributes, for the forms
	Kinds             []string
	Refused           string // why the attribute was not created
	RefusedList       string
	Made              string // list that was created, but without its values
	Attribute         newAttribute
	List              newList
}

// newAttribute is the input of the form for an attribute.
type newAttribute struct {
	Name, Type, Kind, DisplayName, Related, ReverseName string
	DateOnly, Many, Required                            bool
}

// newList is the input of the form for a list.
type newList struct{ Name, DisplayName, Values string }

// showCustom serves GET ui/model/custom.
func showCustom(v *ui.Visit) error {
	of, err := sought(v, "type")
	if err != nil {
		return err
	}
	return renderCustom(v, customPage{Attribute: newAttribute{Type: of, Kind: "Text"}})
}

func renderCustom(v *ui.Visit, page customPage) error {
	queries, into := []ui.Query{attributesQuery(), listsQuery()}, []any{&page.Attributes, &page.Lists}
	var types []struct{ Name string }
	if v.Member.Administers() {
		queries, into = append(queries, ui.Query{"from": "AssetType", "filter": inUse, "select": "Name", "sort": "Name"}), append(into, &types)
		sendsCustom(v)
	}
	if err := v.API.Find(queries, into...); err != nil {
		return err
	}
	for _, t := range types {
		page.Types = append(page.Types, t.Name)
	}
	slices.SortStableFunc(page.Attributes, func(a, b definition) int { return cmp.Compare(a.Of, b.Of) })
	page.Kinds = kinds
	page.Attribute.Name, page.List.Name = cmp.Or(page.Attribute.Name, "Custom_"), cmp.Or(page.List.Name, "Custom_")
	return v.Render("custom", "Custom attributes and lists", page)
}

// sendsCustom adds the requests of the forms to the footer.
func sendsCustom(v *ui.Visit) {
	v.Sends("api/asset?atomic=true", `[
  {"AssetType": "AttributeDefinition", "Name": "Custom_Weight", "Asset": "PrimaryWorkitem", "AttributeType": "Numeric", "DisplayName": "Weight"}
]`)
	v.Sends("api/asset?atomic=true", `[
  {"AssetType": "AssetType", "Name": "Custom_OriginType", "Base": "List", "DisplayName": "Origin"}
]`)
	v.Sends("api/asset?atomic=true", `[
  {"AssetType": "Custom_OriginType", "Name": "Customer"}
]`)
}

// formAttribute reads the form for an attribute.
func formAttribute(v *ui.Visit) newAttribute {
	return newAttribute{
		Name: v.Field("name"), Type: v.Field("type"), Kind: v.Field("kind"), DisplayName: v.Field("displayName"),
		Related: v.Field("related"), ReverseName: v.Field("reverseName"),
		DateOnly: v.Field("dateOnly") != "", Many: v.Field("many") != "", Required: v.Field("required") != "",
	}
}

// misfit returns a message about a field that does not fit the kind of the attribute, or "".
func (a newAttribute) misfit() string {
	if a.Kind != "Relation" {
		for _, of := range []struct {
			field string
			given bool
		}{{"Leads to the type or list", a.Related != ""}, {"Its name on that type", a.ReverseName != ""}, {"To many", a.Many}} {
			if of.given {
				return "“" + of.field + "” is of a relation alone: leave it empty, or choose the kind Relation."
			}
		}
	}
	if a.Kind != "Date" && a.DateOnly {
		return "“A day without a time” is of a date alone: leave it unmarked, or choose the kind Date."
	}
	return ""
}

// command returns the command that creates the attribute. It leaves out empty fields.
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

// attributeWords replaces the attribute name at the start of a refusal by the label in the
// form.
var attributeWords = []struct{ is, with string }{
	{"Asset ", "Of the type: it "},
	{"AttributeType ", "Kind: it "},
	{"RelatedAssetType ", "Leads to the type or list: it "},
	{"ReverseName ", "Its name on that type: it "},
	{"DisplayName ", "People read: it "},
}

// attributeRefusal returns a refusal about an attribute in plain English.
func attributeRefusal(message string) string {
	text := ui.Readable(message)
	for _, w := range attributeWords {
		if rest, begins := strings.CutPrefix(text, w.is); begins {
			return w.with + rest
		}
	}
	return text
}

// createAttribute serves POST ui/model/attribute.
func createAttribute(v *ui.Visit) error {
	a := formAttribute(v)
	if text := a.misfit(); text != "" {
		v.Status = http.StatusBadRequest
		return renderCustom(v, customPage{Refused: text, Attribute: a})
	}
	made, err := v.API.Write(a.command())
	if refused, err := ui.AsError(err); err != nil {
		return err
	} else if refused != nil {
		v.Status = refused.Status
		return renderCustom(v, customPage{Refused: attributeRefusal(refused.Message), Attribute: a})
	}
	return toDefinition(v, made)
}

// createList serves POST ui/model/list. The values are created by a second request, because a
// request uses the model as it was when the request began.
func createList(v *ui.Visit) error {
	l := newList{Name: v.Field("name"), DisplayName: v.Field("displayName"), Values: v.Request.PostForm.Get("values")}
	command := map[string]string{"AssetType": "AssetType", "Name": l.Name, "Base": "List"}
	if l.DisplayName != "" {
		command["DisplayName"] = l.DisplayName
	}
	page := customPage{List: l, Attribute: newAttribute{Kind: "Text"}}
	names := valueNames(l.Values)
	err := checkValues(names)
	var made ui.Written
	if err == nil {
		made, err = v.API.Write(command)
	}
	if err == nil && len(names) > 0 {
		if err = writeValues(v, l.Name, names); err != nil {
			page.Made, page.List.Name = l.Name, ""
		}
	}
	if refused, err := ui.AsError(err); err != nil {
		return err
	} else if refused != nil {
		v.Status, page.RefusedList = refused.Status, ui.Readable(refused.Message)
		return renderCustom(v, page)
	}
	return toDefinition(v, made)
}

// toDefinition redirects to the page of a created definition.
func toDefinition(v *ui.Visit, made ui.Written) error {
	v.CannotUndo()
	if len(made.AssetsCreated.OidTokens) != 1 {
		return v.Redirect("/ui/model/custom?done=made")
	}
	return v.Redirect("/ui/model/custom/" + made.AssetsCreated.OidTokens[0] + "?done=made")
}

// valueNames returns the names in a text area, one per line.
func valueNames(text string) []string {
	var names []string
	for line := range strings.Lines(text) {
		if name := strings.TrimSpace(line); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// addValues serves POST ui/model/<list>: it adds either all values or none.
func addValues(v *ui.Visit) error {
	list, text := v.Request.PathValue("type"), v.Request.PostForm.Get("values")
	names := valueNames(text)
	err := checkValues(names)
	if err == nil && len(names) == 0 {
		err = &ui.Error{Status: http.StatusBadRequest, Message: "Write values, one per line."}
	}
	if err == nil {
		err = notThere(v, list, names)
	}
	if err == nil {
		err = writeValues(v, list, names)
	}
	if refused, err := ui.AsError(err); err != nil {
		return err
	} else if refused != nil {
		v.Status = refused.Status
		return renderType(v, typePage{Message: ui.Readable(refused.Message), Value: text})
	}
	return v.Redirect("/ui/model/" + list + "?done=saved#values")
}

// maxNewValues limits the values that a form creates.
const maxNewValues = 500

// checkValues refuses too many values and repeated values. Errors: *ui.Error.
func checkValues(names []string) error {
	if len(names) > maxNewValues {
		return &ui.Error{Status: http.StatusBadRequest, Message: "Write at most 500 values at once, one per line."}
	}
	before := map[string]bool{}
	for _, name := range names {
		low := strings.ToLower(name)
		if before[low] {
			return &ui.Error{Status: http.StatusBadRequest, Message: "“" + name + "” stands there twice. Nothing was made."}
		}
		before[low] = true
	}
	return nil
}

// notThere refuses values that the list already has. The interface decides which names are
// equal. Errors: *ui.Error.
func notThere(v *ui.Visit, list string, names []string) error {
	var found []struct{ Name, AssetState string }
	err := v.API.Find([]ui.Query{{
		"from": list, "filter": []string{"Name=$Names", "AssetState='Active','Closed'"}, "with": map[string]any{"$Names": names},
		"select": []string{"Name", "AssetState"}, "page": map[string]int{"start": 0, "size": 1},
	}}, &found)
	if err != nil || len(found) == 0 {
		return err
	}
	state := "is there already"
	if found[0].AssetState == "Closed" {
		state += ", but inactive"
	}
	return &ui.Error{Status: http.StatusBadRequest, Message: "“" + found[0].Name + "” " + state + ". Nothing was added."}
}

// writeValues adds either all values to a list or none. Errors: *ui.Error.
func writeValues(v *ui.Visit, list string, names []string) error {
	commands := make([]any, len(names))
	for i, name := range names {
		commands[i] = map[string]string{"AssetType": list, "Name": name}
	}
	_, err := v.API.Write(commands...)
	return err
}

// example returns a command as indented JSON, for the footer.
func example(command any) string {
	b, err := json.MarshalIndent([]any{command}, "", "  ")
	if err != nil {
		return ""
	}
	return string(b)
}
