package projects

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
			"GET /ui/projects":                                home,
			"GET /ui/project/{oid}":                           showBacklog,
			"GET /ui/project/{oid}/rank":                      toView(""),
			"GET /ui/project/{oid}/add":                       toView(""),
			"GET /ui/project/{oid}/move":                      toView("/board"),
			"GET /ui/project/{oid}/change":                    toView(""),
			"POST /ui/project/{oid}/rank":                     rankItem,
			"POST /ui/project/{oid}/change":                   changeItems,
			"POST /ui/project/{oid}/cell":                     changeCell,
			"POST /ui/project/{oid}/add":                      addItem,
			"GET /ui/project/{oid}/sprints":                   showSprints,
			"GET /ui/project/{oid}/sprint/{timebox}":          showSprint,
			"GET /ui/project/{oid}/sprint/{timebox}/burndown": showBurndown,
			"GET /ui/project/{oid}/flow":                      showFlow,
			"GET /ui/project/{oid}/board":                     showBoard,
			"GET /ui/project/{oid}/proposals":                 showProposals,
			"POST /ui/project/{oid}/move":                     moveItem,
		},
		Templates: templateFiles,
	}
}
