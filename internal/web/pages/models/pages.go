package models

import (
	"embed"
	"html/template"

	"github.com/alds-dev/alds/internal/web/ui"
)

//go:embed templates
var templateFiles embed.FS

// Pages returns the pages of this package.
func Pages() ui.Set {
	return ui.Set{
		Pages: map[string]ui.Page{
			"GET /ui/model":               showModel,
			"GET /meta.v1":                showModel,
			"GET /ui/model/{type}":        showType,
			"GET /meta.v1/{type}":         showType,
			"POST /ui/model/{type}":       addValues,
			"GET /ui/model/{$}":           showModel,
			"GET /ui/model/custom":        showCustom,
			"POST /ui/model/attribute":    createAttribute,
			"POST /ui/model/list":         createList,
			"GET /ui/model/custom/{oid}":  showDefinition,
			"POST /ui/model/custom/{oid}": changeDefinition,
		},
		Templates: templateFiles,
		Functions: template.FuncMap{"called": called},
	}
}
