package home

import (
	"embed"

	"github.com/alds-dev/alds/internal/web/ui"
)

//go:embed templates
var templateFiles embed.FS

// Pages returns the pages of this package.
func Pages() ui.Set {
	return ui.Set{
		Pages: map[string]ui.Page{
			"GET /{$}":        showWork,
			"GET /ui/{$}":     showWork,
			"GET /ui/search":  search,
			"GET /ui/open":    showOpen,
			"GET /ui/changes": showChanges,
		},
		Templates: templateFiles,
	}
}
