package members

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
			"GET /ui/members":                    showMembers,
			"GET /ui/members/new":                newMember,
			"POST /ui/members/new":               createMember,
			"GET /ui/members/roles":              showMatrix,
			"POST /ui/members/roles":             changeMatrix,
			"GET /ui/members/audit":              showAudit,
			"GET /ui/members/{oid}":              showMember,
			"POST /ui/members/{oid}/{act}":       actOnMember,
			"POST /ui/members/{oid}/tokens/{id}": revokeOf,
		},
		Templates: templateFiles,
	}
}
