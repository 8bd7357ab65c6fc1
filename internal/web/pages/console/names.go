package console

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/web/ui"
)

// completions are the names that the editor completes.
//
// Shape: {"types":["Story"],"attributes":{"Scope":"Scope","Name":""},"operations":["Delete"]}.
type completions struct {
	Types      []string          `json:"types,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"` // type of the related assets; empty: no relation
	Operations []string          `json:"operations,omitempty"`
}

// consoleNames serves GET ui/console/names: all types, or the attributes and operations of one
// type.
func consoleNames(v *ui.Visit) error {
	v.Writer.Header().Set("Cache-Control", "private, max-age=300")
	typ := v.Param("type")
	if typ == "" {
		return typeNames(v)
	}
	var description struct {
		Attributes map[string]struct {
			Name         string
			RelatedAsset struct {
				Nameref string `json:"nameref"`
			}
		}
		Operations map[string]struct{ Name string }
	}
	if strings.ContainsAny(typ, "/.") {
		return ui.NotFound() // not a type, and it would change the path
	}
	if err := v.API.Get("meta.v1/"+url.PathEscape(typ), &description); err != nil {
		return err
	}
	n := completions{Attributes: map[string]string{}}
	for _, a := range description.Attributes {
		n.Attributes[a.Name] = a.RelatedAsset.Nameref
	}
	for _, o := range description.Operations {
		n.Operations = append(n.Operations, o.Name)
	}
	slices.Sort(n.Operations)
	return sendNames(v, n)
}

func typeNames(v *ui.Visit) error {
	var found []struct{ Name string }
	if err := v.API.Find([]ui.Query{{"from": "AssetType", "select": []string{"Name"}, "sort": []string{"Name"}}}, &found); err != nil {
		return err
	}
	var n completions
	for _, t := range found {
		n.Types = append(n.Types, t.Name)
	}
	return sendNames(v, n)
}

func sendNames(v *ui.Visit, n completions) error {
	b, err := json.Marshal(n)
	if err != nil {
		return err
	}
	v.Status = http.StatusOK
	return v.Send("application/json; charset=utf-8", b)
}
