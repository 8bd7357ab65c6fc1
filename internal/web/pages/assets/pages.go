package assets

import (
	"embed"
	"html/template"
	"strings"

	"github.com/alds-dev/alds/internal/web/ui"
)

//go:embed templates
var templateFiles embed.FS

// Pages returns the pages of this package.
func Pages() ui.Set {
	return ui.Set{
		Pages: map[string]ui.Page{
			"GET /assetdetail.v1":               showAsset,
			"GET /assetdetail.v1/{$}":           showAsset,
			"GET /ui/asset/{oid}/totals":        showTotals,
			"GET /ui/asset/{oid}/field/{name}":  showField,
			"POST /ui/asset/{oid}/field/{name}": editField,
			"GET /ui/new/{type}":                showNew,
			"POST /ui/new/{type}":               createNew,
			"POST /ui/asset/{oid}/add":          addPart,
			"POST /ui/asset/{oid}/comment":      commentOn,
			"POST /ui/asset/{oid}":              editAsset,
			"POST /ui/asset/{oid}/attach":       attachToAsset,
			"POST /ui/asset/{oid}/run":          operateOnAsset,
			"POST /ui/asset/{oid}/apply":        applyProposal,
			"POST /ui/asset/{oid}/renew":        renewProposal,
			"GET /ui/undo":                      showUndo,
			"POST /ui/undo":                     undo,
			"POST /ui/undo/last":                undoLast,
		},
		Templates: templateFiles,
		Functions: template.FuncMap{
			"dated":       dateOf,
			"place":       placeOf,
			"projectLink": projectLink,
			"path":        func(oid string) string { return strings.ReplaceAll(oid, ":", "/") },
		},
	}
}
