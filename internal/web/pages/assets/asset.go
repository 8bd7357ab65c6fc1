package assets

import (
	"net/http"
	"strings"

	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/web/ui"
)

// asset has the data that all tabs of the page of an asset show.
type asset struct {
	Oid     string // Oid without a moment
	Moment  string // moment of the version that is shown
	IsPast  bool   // an earlier version is shown
	Type    string // name of the type for people
	Number  string
	Name    string
	State   string
	Deleted bool
	Project *ref
	May     bool // the reader may change the asset
	Changed instantOf
	Cut     bool // long texts were too large to be read
	Tab     string

	kind  *ui.Type
	model *ui.Model
	words ui.Words
	row   row
}

// instantOf has the author and the time of a change.
type instantOf struct {
	By ref
	At string
}

// row is a row of a query.
type row map[string]any

// ref is the Oid and name of an asset, for a link.
type ref struct{ Oid, Name string }

// assetTab is another view of the same asset.
type assetTab struct {
	Name, Path string
	Here       bool
}

// Kind returns the token of the type, for its icon.
func (a *asset) Kind() string { return a.kind.Token }

// MayEdit reports whether the reader may change the name of the asset.
func (a *asset) MayEdit() bool {
	name := a.kind.ByName["Name"]
	return name != nil && !name.IsReadOnly && a.May && !a.Deleted && !a.IsPast
}

// Tabs returns the tabs of the page.
func (a *asset) Tabs() []assetTab {
	tabs := []assetTab{
		{"Details", assetLink(a.Oid), a.Tab == "" && !a.IsPast},
		{"History", assetLink(a.Oid, "tab", "history"), a.Tab == "history"},
		{"Activity", assetLink(a.Oid, "tab", "activity"), a.Tab == "activity"},
	}
	if a.May && !a.Deleted {
		tabs = append(tabs, assetTab{"Edit", assetLink(a.Oid, "tab", "edit"), a.Tab == "edit"})
	}
	return tabs
}

// showAsset serves GET assetdetail.v1?oid=<Oid>. Spec: interface 4.14.
func showAsset(v *ui.Visit) error {
	o, err := namedAsset(v)
	if err != nil {
		return err
	}
	switch tab := v.Param("tab"); tab {
	case "":
		return showRead(v, o, "")
	case "history":
		return showHistory(v, o)
	case "activity":
		return showActivity(v, o)
	case "edit":
		return showEdit(v, o)
	default:
		return &ui.Error{Status: http.StatusBadRequest, Message: "There is no tab " + fewer(tab) + ": history, activity and edit are there."}
	}
}

// namedAsset returns the Oid of the parameter oid. The case of the parameter name does not
// matter.
func namedAsset(v *ui.Visit) (oid.OID, error) {
	text := v.Param("oid")
	for name, values := range v.Request.URL.Query() {
		if strings.EqualFold(name, "oid") && text == "" {
			text = strings.TrimSpace(values[0])
		}
	}
	return readOid(strings.Trim(text, "'\""))
}

// readOid parses an Oid of a URL. Errors: *ui.Error, 400 if it is not an Oid, 404 if it is the
// null Oid.
func readOid(text string) (oid.OID, error) {
	o, err := oid.Parse(text)
	if err != nil {
		return o, &ui.Error{Status: http.StatusBadRequest, Message: "The address names no asset: assetdetail.v1?oid=Story:1234"}
	}
	if o.IsNull() {
		return o, ui.NotFound()
	}
	return o, nil
}

// fewer shortens a text of the URL for use in a message.
func fewer(text string) string {
	if runes := []rune(text); len(runes) > 40 {
		return string(runes[:40]) + "…"
	}
	return text
}

// assetLink returns the path of an asset's page below the base, with parameters in pairs of
// name and value.
func assetLink(oid string, params ...string) string {
	return ui.Link("", "/assetdetail.v1", append([]string{"oid", oid}, params...)...)
}

// kindOf returns the asset of an Oid with its type and the names of its attributes and
// operations. It reads no values. Errors: *ui.Error, 404 if the type or the asset does not
// exist.
func kindOf(v *ui.Visit, o oid.OID) (*asset, error) {
	model, err := v.Model()
	if err != nil {
		return nil, err
	}
	kind := model.Types[o.Type]
	if kind == nil {
		return nil, ui.NotFound()
	}
	if err := isThere(v, o); err != nil {
		return nil, err
	}
	if kind.Abstract {
		if kind, err = concrete(v, model, o); err != nil {
			return nil, err
		}
		o.Type = kind.Token
	}
	names, err := v.Words(ui.TagsOf(kind))
	if err != nil {
		return nil, err
	}
	return &asset{Oid: o.Now().String(), kind: kind, model: model, words: names, Type: names.Of(ui.TypeTag(kind.Token)), Tab: v.Param("tab")}, nil
}

// isThere returns a 404 if the asset is missing or is in a deleted project. Queries with the
// filter alsoDeleted would find an asset of a deleted project. Spec: interface 3.7.
func isThere(v *ui.Visit, o oid.OID) error {
	var present, deleted []struct{}
	now := o.Now().String()
	err := v.API.Find([]ui.Query{
		{"from": now, "select": []string{"AssetType"}}, {"from": now, "select": []string{"AssetType"}, "filter": []string{"IsDeleted='true'"}},
	}, &present, &deleted)
	if err != nil || len(present)+len(deleted) == 0 {
		return hidden(err)
	}
	return nil
}

// concrete returns the concrete type of an asset whose Oid has an abstract type.
func concrete(v *ui.Visit, model *ui.Model, o oid.OID) (*ui.Type, error) {
	var found []struct{ AssetType string }
	err := v.API.Find([]ui.Query{{"from": o.Now().String(), "select": []string{"AssetType"}, "filter": []string{alsoDeleted}}}, &found)
	if err != nil || len(found) == 0 || model.Types[found[0].AssetType] == nil {
		return nil, hidden(err)
	}
	return model.Types[found[0].AssetType], nil
}

// alsoDeleted is a filter that keeps deleted assets in the result. Spec: interface 2.3.7.
const alsoDeleted = "IsDeleted='true','false'"

// hidden turns a refused read into the same 404 as for a missing asset, so that the answer does not
// reveal whether the asset exists.
func hidden(err error) error {
	f, other := ui.AsError(err)
	if other != nil || f != nil && f.Status != http.StatusNotFound && f.Status != http.StatusBadRequest {
		return err
	}
	return ui.NotFound()
}

// text returns a value of a row as text, or "".
func (r row) text(name string) string {
	switch x := r[name].(type) {
	case string:
		return x
	case bool:
		if x {
			return "true"
		}
		return "false"
	}
	return ""
}

// is reports whether a Boolean value of a row is true.
func (r row) is(name string) bool { b, _ := r[name].(bool); return b }

// oid returns the Oid of the asset in a relation to one. It is empty if there is no asset or the
// reader does not see the asset.
func (r row) oid(name string) string {
	reference, _ := r[name].(map[string]any)
	text, _ := reference["_oid"].(string)
	if text == oid.Null {
		return ""
	}
	return text
}

// name returns the name of the asset in a relation to one.
func (r row) name(relation string) string { return ui.RoleName(r.text(relation + ".Name")) }

// list returns the values of a multi-value attribute as texts. For a relation these are Oids.
func (r row) list(name string) []string {
	values, _ := r[name].([]any)
	texts := make([]string, 0, len(values))
	for _, one := range values {
		switch x := one.(type) {
		case string:
			texts = append(texts, x)
		case map[string]any:
			text, _ := x["_oid"].(string)
			texts = append(texts, text)
		case nil:
			texts = append(texts, "")
		}
	}
	return texts
}

// place is a page where people work with a project or a member.
type place struct{ Name, Path string }

// placeOf returns the page for a project or a member, or nil for other assets.
func placeOf(oid string) *place {
	switch {
	case ui.IsOid(oid, "Scope"):
		return &place{"Backlog", "/ui/project/" + oid}
	case ui.IsOid(oid, "Member"):
		return &place{"Member", "/ui/members/" + oid}
	}
	return nil
}

// projectLink returns the path of the page where people work with a project or a member. For any
// other asset it returns the path of the asset page.
func projectLink(oid string) string {
	if p := placeOf(oid); p != nil {
		return p.Path
	}
	return assetLink(oid)
}
