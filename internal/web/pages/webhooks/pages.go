package webhooks

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
			"GET /ui/webhooks":                            ui.ForAdministrators(showWebhooks),
			"GET /ui/webhooks/new":                        ui.ForAdministrators(newWebhook),
			"POST /ui/webhooks/new":                       ui.ForAdministrators(createWebhook),
			"GET /ui/webhooks/{id}":                       ui.ForAdministrators(showWebhook),
			"GET /ui/webhooks/{id}/edit":                  ui.ForAdministrators(editWebhook),
			"POST /ui/webhooks/{id}/edit":                 ui.ForAdministrators(changeWebhook),
			"GET /ui/webhooks/{id}/deliveries/{delivery}": ui.ForAdministrators(showDelivery),
			"POST /ui/webhooks/{id}/{act}":                ui.ForAdministrators(actOnWebhook),
		},
		Templates: templateFiles,
		Functions: template.FuncMap{"whyNot": func(why string) string { return whyNot[why] }},
		Notices: map[string]string{
			"webhook-test":      "A test event waits to be sent. Load the page again to see its receipt.",
			"webhook-pause":     "The webhook is paused: its events wait.",
			"webhook-resume":    "The webhook goes on, with the events that have waited.",
			"webhook-enable":    "The webhook is enabled. Changes made from now on make events.",
			"webhook-disable":   "The webhook is disabled. What waited is dropped.",
			"webhook-delete":    "The webhook is deleted.",
			"webhook-redeliver": "What was asked for waits to be sent again.",
			"webhook-none":      "There was nothing to send again in that time.",
		},
	}
}
