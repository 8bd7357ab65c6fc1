package sample

import (
	"embed"

	"github.com/alds-dev/alds/internal/web/ui"
)

//go:embed templates
var templateFiles embed.FS

// Pages returns the pages of this package.
func Pages() ui.Set {
	k := &receivers{byID: map[string][]received{}}
	return ui.Set{
		Pages: map[string]ui.Page{
			"GET /ui/welcome":          showWelcome,
			"POST /ui/welcome":         k.makeSample,
			"POST /ui/welcome/project": makeProject,
			"POST /ui/welcome/remove":  removeSample,
			"GET /ui/receiver/{id}":    k.show,
		},
		Open: map[string]ui.Page{
			"POST /ui/receiver/{id}": k.receive,
		},
		Templates: templateFiles,
	}
}
