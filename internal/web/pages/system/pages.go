package system

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
			"GET /ui/system":           ui.ForAdministrators(showSystem),
			"GET /ui/system/check":     ui.ForAdministrators(showCheck),
			"POST /ui/system/check":    ui.ForAdministrators(startCheck),
			"POST /ui/system/settings": ui.ForAdministrators(changeSettings),
		},
		Templates: templateFiles,
		Functions: template.FuncMap{"span": span, "milliseconds": milliseconds},
	}
}
