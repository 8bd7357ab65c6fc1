package members

import (
	"net/http"
	"net/url"

	"github.com/alds-dev/alds/internal/web/ui"
)

// Bounds of names in fields.
const (
	maxNamed     = 200 // bytes of a name
	maxNamesakes = 20  // assets with the same name that a page lists
)

// namesake is one of several assets with the name in a field, with the link that selects it.
type namesake struct{ Oid, Name, Link string }

// namedBy maps a type to the filter that finds assets of this type by the name $Text.
var namedBy = map[string]string{"Member": "Name=$Text|Nickname=$Text|Username=$Text", "Scope": "Name=$Text"}

// assetNamed returns the Oid of the member or project in a field. The field contains an Oid or a
// name; for an empty field, the result is "". If several assets have the name, the list all has an
// entry for each of them. The link of an entry leads to this page, with the Oid of the asset as the
// parameter. Errors: *ui.Error, 400 if no asset has the name.
func assetNamed(v *ui.Visit, kind, param string) (oid string, all []namesake, err error) {
	text := v.Param(param)
	if text == "" || ui.IsOid(text, kind) {
		return text, nil, nil
	}
	var found []ui.Named
	if len(text) <= maxNamed {
		q := ui.Query{
			"from": kind, "select": []string{"Name"}, "filter": []string{namedBy[kind]}, "with": map[string][]string{"$Text": {text}},
			"sort": []string{"Name"}, "page": map[string]int{"size": maxNamesakes, "start": 0},
		}
		if err := v.API.Find([]ui.Query{q}, &found); err != nil {
			return "", nil, err
		}
	}
	switch len(found) {
	case 0:
		return "", nil, &ui.Error{Status: http.StatusBadRequest, Message: "Nothing that you see is called “" + text + "”."}
	case 1:
		return found[0].Oid, nil, nil
	}
	for _, one := range found {
		values := v.Request.URL.Query()
		values.Set(param, one.Oid)
		for _, place := range []string{"after", "page", "columns"} {
			values.Del(place)
		}
		link := url.URL{Path: v.Request.URL.Path, RawQuery: values.Encode()}
		all = append(all, namesake{one.Oid, one.Name, link.String()})
	}
	return "", all, nil
}

// errNamesakes refuses a name that several assets have.
func errNamesakes(text string) error {
	return &ui.Error{Status: http.StatusBadRequest, Message: "Several are called “" + text + "”. Say which:"}
}
