package webhooks

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/web/ui"
)

// webhook is a subscription as the interface lists it. Spec: interface 2.6.
type webhook struct {
	ID             string          `json:"id"`
	WebhookID      string          `json:"webhookId"`
	URL            string          `json:"url"`
	Description    string          `json:"description"`
	Enabled        bool            `json:"enabled"`
	Paused         bool            `json:"paused"`
	DisabledReason string          `json:"disabledReason"`
	EventTypes     json.RawMessage `json:"eventTypes"`
	MaxBatch       int             `json:"maxBatch"`
	Ordered        bool            `json:"ordered"`
	HasSecret      bool            `json:"hasSecret"`
	Secret         string          `json:"secret"` // only in the answer to the request that created the secret
	LastResponseAt time.Time       `json:"lastResponseAt"`
	CreatedAt      time.Time       `json:"createdAt"`
	UpdatedAt      time.Time       `json:"updatedAt"`
	CreatedBy      string          `json:"createdBy"`
	Health         webhookHealth   `json:"health"`
}

// webhookHealth is the state of the deliveries of a subscription.
type webhookHealth struct {
	State        string    `json:"state"`
	RestingUntil time.Time `json:"restingUntil"`
	DueSince     time.Time `json:"dueSince"` // zero unless the subscription is behind
	Failures     int       `json:"failuresInRow"`
	Waiting      int       `json:"waiting"`
	LastLatency  *float64  `json:"lastLatency"`
}

// Address returns the URL without the parts that may be secret.
func (w *webhook) Address() string {
	u, err := url.Parse(w.URL)
	if err != nil {
		return ""
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return shown.String()
}

// version returns a text that changes with each change of the subscription.
func (w *webhook) version() string { return w.UpdatedAt.Format(time.RFC3339Nano) }

// HasHidden reports whether the URL has parts that Address does not show.
func (w *webhook) HasHidden() bool {
	u, err := url.Parse(w.URL)
	return err != nil || u.User != nil || u.RawQuery != ""
}

// Latency returns the duration of the latest delivery, or "".
func (w *webhook) Latency() string {
	if w.Health.LastLatency == nil {
		return ""
	}
	return latencyText(time.Duration(*w.Health.LastLatency * float64(time.Second)))
}

// latencyText formats a duration so that readers can compare it with other durations.
func latencyText(d time.Duration) string {
	switch {
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d < 2*time.Hour:
		return d.Round(time.Second).String()
	}
	return d.Round(time.Minute).String()
}

// Events describes each definition in a short text.
func (w *webhook) Events(names ui.Names) []string {
	all := w.definitions()
	words := make([]string, len(all))
	for i := range all {
		words[i] = all[i].inWords(names)
	}
	return words
}

// definitions returns the event definitions, or nil if they cannot be parsed.
func (w *webhook) definitions() (all []webhookDefinition) {
	if json.Unmarshal(w.EventTypes, &all) != nil {
		return nil
	}
	return all
}

// members returns the Oids of the members in a subscription.
func (w *webhook) members() []string {
	oids := []string{w.CreatedBy}
	for _, d := range w.definitions() {
		oids = append(oids, d.UserContext)
	}
	return oids
}

// webhookDefinition is an event definition. Spec: interface 6.1.
type webhookDefinition struct {
	Type        string                     `json:"type"`
	From        string                     `json:"from"`
	Attributes  []string                   `json:"attributes,omitempty"`
	Filter      []string                   `json:"filter,omitempty"`
	With        map[string]json.RawMessage `json:"with,omitempty"`
	UserContext string                     `json:"userContext,omitempty"`
	Select      []string                   `json:"select,omitempty"`
}

// inWords describes a definition in a short text.
func (d *webhookDefinition) inWords(names ui.Names) string {
	text := d.From + " is changed"
	if d.Type == "AssetCreated" {
		text = d.From + " is created"
	} else if len(d.Attributes) > 0 {
		text = d.From + "." + strings.Join(d.Attributes, ", ") + " is changed"
	}
	if len(d.Filter) > 0 {
		text += ", if " + strings.Join(d.Filter, " and ")
	}
	if d.UserContext != "" {
		text += ", as " + names.Of(d.UserContext) + " sees it"
	}
	return text
}

// showWebhooks serves GET ui/webhooks.
func showWebhooks(v *ui.Visit) error {
	size, start, err := v.ListPage()
	if err != nil {
		return err
	}
	var page struct {
		ui.ListPage
		Results []webhook `json:"results"`
		Names   ui.Names  `json:"-"`
	}
	if err := v.API.Get(ui.ListPath("api/webhook", size, start), &page); err != nil {
		return err
	}
	var members []string
	for i := range page.Results {
		members = append(members, page.Results[i].members()...)
	}
	if page.Names, err = v.NamesOf(members...); err != nil {
		return err
	}
	page.Path, page.Query = v.Site.Base+"/ui/webhooks", v.Request.URL.Query()
	return v.Render("webhooks", "Webhooks", &page)
}
