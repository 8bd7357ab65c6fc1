package pages

import (
	"net/http"

	"github.com/alds-dev/alds/internal/web/pages/account"
	"github.com/alds-dev/alds/internal/web/pages/assets"
	"github.com/alds-dev/alds/internal/web/pages/console"
	"github.com/alds-dev/alds/internal/web/pages/home"
	"github.com/alds-dev/alds/internal/web/pages/members"
	"github.com/alds-dev/alds/internal/web/pages/models"
	"github.com/alds-dev/alds/internal/web/pages/projects"
	"github.com/alds-dev/alds/internal/web/pages/sample"
	"github.com/alds-dev/alds/internal/web/pages/system"
	"github.com/alds-dev/alds/internal/web/pages/webhooks"
	"github.com/alds-dev/alds/internal/web/ui"
)

// New returns a handler for all pages. They send their requests to the interface through api.
func New(api http.RoundTripper, o ui.Options) http.Handler {
	return ui.New(api, o,
		account.Pages(), assets.Pages(), console.Pages(), home.Pages(), members.Pages(), models.Pages(),
		projects.Pages(), sample.Pages(), system.Pages(), webhooks.Pages())
}
