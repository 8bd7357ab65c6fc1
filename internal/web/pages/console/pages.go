package console

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
			"GET /ui/console":       showConsole,
			"POST /ui/console":      runConsole,
			"GET /ui/console/names": consoleNames,
		},
		Templates: templateFiles,
	}
}
