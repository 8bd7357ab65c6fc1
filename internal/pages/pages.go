package pages

import (
	"net/http"

	"github.com/alds-dev/alds/internal/pages/account"
	"github.com/alds-dev/alds/internal/pages/assets"
	"github.com/alds-dev/alds/internal/pages/console"
	"github.com/alds-dev/alds/internal/pages/members"
	"github.com/alds-dev/alds/internal/pages/models"
	"github.com/alds-dev/alds/internal/pages/projects"
	"github.com/alds-dev/alds/internal/pages/sample"
	"github.com/alds-dev/alds/internal/pages/system"
	"github.com/alds-dev/alds/internal/pages/webhooks"
	"github.com/alds-dev/alds/internal/ui"
)

// New returns all pages. They ask the interface through api.
func New(api http.RoundTripper, o ui.Options) http.Handler {
	return ui.New(api, o,
		account.Pages(), assets.Pages(), console.Pages(), members.Pages(), models.Pages(),
		projects.Pages(), sample.Pages(), system.Pages(), webhooks.Pages())
}
