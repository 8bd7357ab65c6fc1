package account

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
			"GET /ui/profile":           showProfile,
			"POST /ui/profile":          changeProfile,
			"POST /ui/password":         changePassword,
			"GET /ui/applications":      showApplications,
			"GET /ui/applications/{id}": showApplication,
			"POST /ui/applications":     createApplication,
			"POST /ui/revoke/{id}":      revokeApplication,
		},
		Open: map[string]ui.Page{
			"GET /ui/sign-in":   showSignIn,
			"POST /ui/sign-in":  signIn,
			"POST /ui/sign-out": signOut,
		},
		Templates: templateFiles,
	}
}
