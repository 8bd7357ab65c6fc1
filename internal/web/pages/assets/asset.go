package assets

import (
	"net/http"
	"strings"

	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/web/ui"
)

// asset is what all tabs of the page of an asset show of it.
type asset struct {
	Oid     string // without a moment
	Moment  string // that is shown; of the present asset its last one
	IsPast  bool   // a version before the present one is shown
	Type    string // its name for people
	Number  string
	Name    string
	State   string
	Deleted bool
	Project *ref
	May     bool // the reader may change the asset as a whole
	Changed instantOf
	Cut     bool // long texts were too large to be read
	Tab     string

	kind  *ui.Type
	model *ui.Model
	words ui.Words
	row   row
}

// instantOf is who did something and when.
type instantOf struct {
	By ref
	At string
}

// row is a row of a query.
type row map[string]any

// ref is an asset as a link shows it.
type ref struct{ Oid, Name string }

// assetTab is another view of the same asset.
type assetTab struct {
	Name, Path string
	Here       bool
}

// Tabs are the views of an asset.
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

// namedAsset is the Oid that the URL names, whatever the case of the parameter's name.
func namedAsset(v *ui.Visit) (oid.OID, error) {
	text := v.Param("oid")
	for name, values := range v.Request.URL.Query() {
		if strings.EqualFold(name, "oid") && text == "" {
			text = strings.TrimSpace(values[0])
		}
	}
	return readOid(strings.Trim(text, "'\""))
}

// readOid reads an Oid of a URL. Errors: *ui.Error, 400 for what is none, 404 for that of
// no asset.
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

// fewer cuts a text of an address that is shown in a message.
func fewer(text string) string {
	if runes := []rune(text); len(runes) > 40 {
		return string(runes[:40]) + "…"
	}
	return text
}

// assetLink is the path, below the base, of an asset's page, with further parameters in
// pairs.
func assetLink(oid string, params ...string) string {
	return ui.Link("", "/assetdetail.v1", append([]string{"oid", oid}, params...)...)
}

// kindOf returns the type that an Oid names, with the names of its parts.
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

// isThere fails, as for what is missing, where an asset lies in a deleted project: a
// query of deleted assets would find it, though it is not one.
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

// concrete finds the type of an asset that is named by one above it.
func concrete(v *ui.Visit, model *ui.Model, o oid.OID) (*ui.Type, error) {
	var found []struct{ AssetType string }
	err := v.API.Find([]ui.Query{{"from": o.Now().String(), "select": []string{"AssetType"}, "filter": []string{alsoDeleted}}}, &found)
	if err != nil || len(found) == 0 || model.Types[found[0].AssetType] == nil {
		return nil, hidden(err)
	}
	return model.Types[found[0].AssetType], nil
}

// alsoDeleted is a filter that takes all assets, deleted ones too. Spec: interface
// 2.3.7.
const alsoDeleted = "IsDeleted='true','false'"

// hidden makes a refusal of a read one that says no more than that nothing is there.
func hidden(err error) error {
	f, other := ui.AsError(err)
	if other != nil || f != nil && f.Status != http.StatusNotFound && f.Status != http.StatusBadRequest {
		return err
	}
	return ui.NotFound()
}

// text is a value of a row as text.
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

// is reports whether a Boolean of a row is true.
func (r row) is(name string) bool { b, _ := r[name].(bool); return b }

// oid is the asset that a relation to one leads to; empty: none, or one that the reader
// does not see.
func (r row) oid(name string) string {
	reference, _ := r[name].(map[string]any)
	text, _ := reference["_oid"].(string)
	if text == oid.Null {
		return ""
	}
	return text
}

// name is that of what a relation to one leads to.
func (r row) name(relation string) string { return ui.RoleName(r.text(relation + ".Name")) }

// list are several values of a row as texts; of a relation the Oids.
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

// placeOf is the place of an asset; nil: it has none.
func placeOf(oid string) *place {
	switch {
	case ui.IsOid(oid, "Scope"):
		return &place{"Backlog", "/ui/project/" + oid}
	case ui.IsOid(oid, "Member"):
		return &place{"Member", "/ui/members/" + oid}
	}
	return nil
}

// projectLink leads from an asset to its project.
func projectLink(oid string) string {
	if p := placeOf(oid); p != nil {
		return p.Path
	}
	return assetLink(oid)
}
