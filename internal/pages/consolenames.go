package pages

import (
	"encoding/json"
	"net/http"
	"net/url"
	"sort"
	"strings"
)

// completions are what the editor completes.
//
// Shape: {"types":["Story"],"attributes":{"Scope":"Scope","Name":""},"operations":["Delete"]}.
type completions struct {
	Types      []string          `json:"types,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"` // the type that a relation leads to
	Operations []string          `json:"operations,omitempty"`
}

// consoleNames serves GET ui/console/names: the types, or what one of them has.
func consoleNames(v *visit) error {
	v.w.Header().Set("Cache-Control", "private, max-age=300")
	typ := v.param("type")
	if typ == "" {
		return v.typeNames()
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
		return notFound() // it would be no type
	}
	if err := v.api.get("meta.v1/"+url.PathEscape(typ), &description); err != nil {
		return err
	}
	n := completions{Attributes: map[string]string{}}
	for _, a := range description.Attributes {
		n.Attributes[a.Name] = a.RelatedAsset.Nameref
	}
	for _, o := range description.Operations {
		n.Operations = append(n.Operations, o.Name)
	}
	sort.Strings(n.Operations)
	return v.sendNames(n)
}

func (v *visit) typeNames() error {
	var found []struct{ Name string }
	if err := v.api.find([]query{{"from": "AssetType", "select": []string{"Name"}, "sort": []string{"Name"}}}, &found); err != nil {
		return err
	}
	var n completions
	for _, t := range found {
		n.Types = append(n.Types, t.Name)
	}
	return v.sendNames(n)
}

func (v *visit) sendNames(n completions) error {
	b, err := json.Marshal(n)
	if err != nil {
		return err
	}
	v.protect()
	v.status = http.StatusOK
	return v.send("application/json; charset=utf-8", b)
}
