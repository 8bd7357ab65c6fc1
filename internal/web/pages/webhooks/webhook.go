package webhooks

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/web/ui"
)

// webhookDelivery is a delivery as the interface lists it. Spec: interface 4.4.5.
type webhookDelivery struct {
	ID          string          `json:"id"`
	State       string          `json:"state"`
	Why         string          `json:"why"`
	Due         time.Time       `json:"due"`
	Test        bool            `json:"test"`
	Events      int             `json:"events"`
	First       int64           `json:"firstSequenceId"`
	Last        int64           `json:"lastSequenceId"`
	Attempts    int             `json:"attempts"`
	LastStatus  int             `json:"lastStatus"`
	LastError   string          `json:"lastError"`
	CommittedAt time.Time       `json:"committedAt"`
	Since       time.Time       `json:"since"` // from when on it is awaited
	SettledAt   time.Time       `json:"settledAt"`
	Request     json.RawMessage `json:"request"`
}

// whyWaiting are the words for why a delivery waits.
var whyWaiting = map[string]string{
	"turn": "for its turn", "sending": "is being sent", "retry": "for its next attempt",
	"asset": "for an earlier event of its asset", "resting": "the receiver rests", "paused": "the webhook is paused",
}

// WhyText says why a delivery waits.
func (d *webhookDelivery) WhyText() string { return whyWaiting[d.Why] }

// Delivery is the delivery of a page.
func (d *webhookDelivery) Delivery() *webhookDelivery { return d }

// Latency is the time from the change, or from when it was asked for again, to the end
// of the delivery.
func (d *webhookDelivery) Latency() string {
	if d.SettledAt.IsZero() {
		return ""
	}
	return latencyText(max(d.SettledAt.Sub(d.Since), 0))
}

// webhookReceipt is an attempt of a delivery. Spec: interface 2.7.
type webhookReceipt struct {
	ID            string            `json:"id"`
	DeliveryID    string            `json:"deliveryId"`
	URL           string            `json:"url"`
	Authorization bool              `json:"hasAuthorizationHeader"`
	Status        int               `json:"status"`
	Headers       map[string]string `json:"headers"`
	Response      string            `json:"response"`
	TimeStamp     time.Time         `json:"timeStamp"`
	RetryCount    int               `json:"retryCount"`
	WasReceived   bool              `json:"wasReceived"`
	AfterGivenUp  string            `json:"afterGivenUp"`
}

// IsOf reports whether the attempt is one since the delivery was asked for, not one
// before it was asked for again.
func (r *webhookReceipt) IsOf(d *webhookDelivery) bool { return !r.TimeStamp.Before(d.Since) }

// Attempt is which one it was, from 1.
func (r *webhookReceipt) Attempt() int { return r.RetryCount + 1 }

// Answer is what the receiver answered with, as it came.
func (r *webhookReceipt) Answer() string {
	var b strings.Builder
	names := make([]string, 0, len(r.Headers))
	for name := range r.Headers {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		b.WriteString(name + ": " + r.Headers[name] + "\n")
	}
	if r.Response != "" {
		b.WriteString("\n" + r.Response)
	}
	return strings.TrimSpace(b.String())
}

// webhookState is a state of deliveries, as people read it.
type webhookState struct{ Name, Title string }

// webhookStates are those there are, the first of which is shown unless another is asked
// for.
var webhookStates = []webhookState{
	{"waiting", "Waiting"}, {"delivered", "Delivered"}, {"exhausted", "Failed"}, {"dropped", "Dropped"}, {"setAside", "Set aside"},
}

// webhookPage is what the page of a subscription shows.
type webhookPage struct {
	webhook
	State      string
	States     []webhookState
	Deliveries webhookDeliveries
	Receipts   []webhookReceipt
	Message    string // what was refused
	Made       string // secret that was just made
	Names      ui.Names
	// Since and Until are what the form of a time has that was refused.
	Since, Until string
}

// webhookDeliveries are a page of them.
type webhookDeliveries struct {
	ui.ListPage
	Results []webhookDelivery `json:"results"`
}

// webhookPath is where the interface has something of a subscription.
func webhookPath(what, id string) string { return "api/webhook/" + what + url.PathEscape(id) }

// showWebhook serves GET ui/webhooks/<id>.
func showWebhook(v *ui.Visit) error { return renderWebhook(v, webhookPage{}) }

func renderWebhook(v *ui.Visit, page webhookPage) error {
	id, err := v.UUID("id")
	if err != nil {
		return err
	}
	size, start, err := v.ListPage()
	if err != nil {
		return err
	}
	page.State, page.States = v.Param("state"), webhookStates
	if page.State == "" {
		page.State = webhookStates[0].Name
	}
	if !slices.ContainsFunc(webhookStates, func(s webhookState) bool { return s.Name == page.State }) {
		return &ui.Error{Status: http.StatusBadRequest, Message: "There is no such state of deliveries."}
	}
	if err := v.API.Get(webhookPath("", id), &page.webhook); err != nil {
		return err
	}
	path := ui.ListPath(webhookPath("deliveries/", id)+"?state="+page.State, size, start)
	if err := v.API.Get(path, &page.Deliveries); err != nil {
		return err
	}
	if err := v.API.Get(webhookPath("status/", id), &page.Receipts); err != nil {
		return err
	}
	if page.Names, err = v.NamesOf(page.members()...); err != nil {
		return err
	}
	page.Deliveries.Path, page.Deliveries.Query = v.Site.Base+"/ui/webhooks/"+url.PathEscape(id), url.Values{"state": {page.State}}
	v.Sends(webhookPath("test/", id), "")
	v.Sends(webhookPath("redeliver/", id), `{"delivery": "…"} or {"since": "2026-01-31T12:00:00Z", "until": "2026-01-31T13:00:00Z"}`)
	v.Sends(webhookPath("", id), `{"paused": true} or {"enabled": false}`)
	v.Sends(webhookPath("delete/", id), "")
	return v.Render("webhook", page.WebhookID, &page)
}

// webhookActs are what the forms of a subscription's page send: the path, and the body
// made of the form.
var webhookActs = map[string]struct {
	path string
	body func(v *ui.Visit) (map[string]any, error)
}{
	"test":      {"test/", nothingToSend},
	"pause":     {"", fixedBody("paused", true)},
	"resume":    {"", fixedBody("paused", false)},
	"enable":    {"", fixedBody("enabled", true)},
	"disable":   {"", fixedBody("enabled", false)},
	"delete":    {"delete/", confirmed},
	"redeliver": {"redeliver/", redelivery},
}

func nothingToSend(*ui.Visit) (map[string]any, error) { return map[string]any{}, nil }

func fixedBody(key string, value bool) func(*ui.Visit) (map[string]any, error) {
	return func(*ui.Visit) (map[string]any, error) { return map[string]any{key: value}, nil }
}

// confirmed demands the mark without which nothing is deleted.
func confirmed(v *ui.Visit) (map[string]any, error) {
	if v.Field("sure") == "" {
		return nil, &ui.Error{Status: http.StatusBadRequest, Message: "Mark that you are sure. Nothing was deleted."}
	}
	return map[string]any{}, nil
}

// redelivery is what is to be sent again: one delivery, or those of a time.
func redelivery(v *ui.Visit) (map[string]any, error) {
	if id := v.Field("delivery"); id != "" {
		return map[string]any{"delivery": id}, nil
	}
	body := map[string]any{}
	for _, name := range []string{"since", "until"} {
		text := v.Field(name)
		if text == "" {
			continue
		}
		at, err := ui.UTCInstant(text)
		if err != nil {
			return nil, &ui.Error{Status: http.StatusBadRequest, Message: "“" + text + "” is no time such as 2026-01-31 12:00."}
		}
		body[name] = at.Format(time.RFC3339)
	}
	if body["since"] == nil {
		return nil, &ui.Error{Status: http.StatusBadRequest, Message: "Say since when changes are to be sent again."}
	}
	return body, nil
}

// actOnWebhook serves POST ui/webhooks/<id>/<act>.
func actOnWebhook(v *ui.Visit) error {
	name := v.Request.PathValue("act")
	act, known := webhookActs[name]
	id, err := v.UUID("id")
	if err != nil || !known {
		return ui.NotFound()
	}
	body, err := act.body(v)
	var queued struct {
		Deliveries int `json:"deliveries"`
	}
	if err == nil {
		err = v.API.Post(webhookPath(act.path, id), body, &queued)
	}
	refused, err := ui.AsError(err)
	switch {
	case err != nil:
		return err
	case refused != nil && (refused.Status == http.StatusForbidden || refused.Status == http.StatusNotFound && v.Field("delivery") == ""):
		return refused
	case refused != nil:
		v.Status = refused.Status
		return renderWebhook(v, webhookPage{Message: ui.Readable(refused.Message), Since: v.Field("since"), Until: v.Field("until")})
	case name == "delete":
		return v.Redirect("/ui/webhooks?done=webhook-delete")
	case name == "redeliver" && queued.Deliveries == 0:
		return v.Redirect("/ui/webhooks/" + url.PathEscape(id) + "?done=webhook-none")
	}
	return v.Redirect("/ui/webhooks/" + url.PathEscape(id) + "?done=webhook-" + name)
}

// maxRequest is how much of the body of a delivery a page shows.
const maxRequest = 64 << 10

// showDelivery serves GET ui/webhooks/<id>/deliveries/<delivery>: what is sent, and what
// was answered.
func showDelivery(v *ui.Visit) error {
	id, err := v.UUID("id")
	if err != nil {
		return err
	}
	delivery, err := v.UUID("delivery")
	if err != nil {
		return err
	}
	var page struct {
		webhookDelivery
		Webhook  webhook
		Receipts []webhookReceipt
		Body     string
		Cut      bool
	}
	if err := v.API.Get(webhookPath("", id), &page.Webhook); err != nil {
		return err
	}
	if err := v.API.Get(webhookPath("delivery/", delivery), &page.webhookDelivery); err != nil {
		return err
	}
	var all []webhookReceipt
	if err := v.API.Get(webhookPath("status/", id), &all); err != nil {
		return err
	}
	for _, r := range all {
		if r.DeliveryID == page.ID {
			page.Receipts = append(page.Receipts, r)
		}
	}
	page.Body, page.Cut = shownBody(page.Request)
	v.Sends(webhookPath("redeliver/", id), `{"delivery": "`+page.ID+`"}`)
	return v.Render("delivery", "Delivery", &page)
}

// shownBody is the body of a request as a page shows it, and whether it is cut short.
func shownBody(request []byte) (text string, cut bool) {
	text = ui.IndentedJSON(request)
	if len(text) > maxRequest {
		return strings.ToValidUTF8(text[:maxRequest], ""), true
	}
	return text, len(text) < len(request)
}
