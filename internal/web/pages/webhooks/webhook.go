package webhooks

import (
	"encoding/json"
	"maps"
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
	Since       time.Time       `json:"since"` // commit of the change, or time of the request to send it again
	SettledAt   time.Time       `json:"settledAt"`
	Request     json.RawMessage `json:"request"`
}

// whyWaiting has a text for each reason why a delivery waits.
var whyWaiting = map[string]string{
	"turn": "for its turn", "sending": "is being sent", "retry": "for its next attempt",
	"asset": "for an earlier event of its asset", "resting": "the receiver rests", "paused": "the webhook is paused",
}

// WhyText returns why a delivery waits.
func (d *webhookDelivery) WhyText() string { return whyWaiting[d.Why] }

// Delivery returns the delivery itself, for templates that share parts.
func (d *webhookDelivery) Delivery() *webhookDelivery { return d }

// Latency returns the time from the change, or from the request to send it again, to the end
// of the delivery. It is empty before the end.
func (d *webhookDelivery) Latency() string {
	if d.SettledAt.IsZero() {
		return ""
	}
	return latencyText(max(d.SettledAt.Sub(d.Since), 0))
}

// webhookReceipt is an attempt of a delivery. Spec: interface 2.7.
type webhookReceipt struct {
	ID           string            `json:"id"`
	DeliveryID   string            `json:"deliveryId"`
	URL          string            `json:"url"`
	Status       int               `json:"status"`
	Headers      map[string]string `json:"headers"`
	Response     string            `json:"response"`
	TimeStamp    time.Time         `json:"timeStamp"`
	RetryCount   int               `json:"retryCount"`
	WasReceived  bool              `json:"wasReceived"`
	AfterGivenUp string            `json:"afterGivenUp"`
}

// IsOf reports whether the attempt belongs to the current delivery. If a delivery is sent again on
// request, the attempts before that request do not belong to it.
func (r *webhookReceipt) IsOf(d *webhookDelivery) bool { return !r.TimeStamp.Before(d.Since) }

// Attempt returns the number of the attempt, from 1.
func (r *webhookReceipt) Attempt() int { return r.RetryCount + 1 }

// Answer returns the headers and body of the receiver's answer.
func (r *webhookReceipt) Answer() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		b.WriteString(name + ": " + r.Headers[name] + "\n")
	}
	if r.Response != "" {
		b.WriteString("\n" + r.Response)
	}
	return strings.TrimSpace(b.String())
}

// webhookState is a state of deliveries with its label.
type webhookState struct{ Name, Title string }

// webhookStates are all states of deliveries. The first one is the default.
var webhookStates = []webhookState{
	{"waiting", "Waiting"}, {"delivered", "Delivered"}, {"exhausted", "Failed"}, {"dropped", "Dropped"}, {"setAside", "Set aside"},
}

// webhookPage is the data of the page of a subscription.
type webhookPage struct {
	webhook
	State      string
	States     []webhookState
	Deliveries webhookDeliveries
	Receipts   []webhookReceipt
	Message    string // why a form was refused
	Made       string // secret that was just generated
	Names      ui.Names
	// Since and Until are the input of a refused form for a period.
	Since, Until string
}

// webhookDeliveries is one page of deliveries.
type webhookDeliveries struct {
	ui.ListPage
	Results []webhookDelivery `json:"results"`
}

// webhookPath returns a path of the interface for a subscription.
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

// webhookActs has the requests of the forms on a subscription's page: the path, and a function
// that makes the body.
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

// confirmed refuses a deletion without the checkbox for confirmation.
func confirmed(v *ui.Visit) (map[string]any, error) {
	if v.Field("sure") == "" {
		return nil, &ui.Error{Status: http.StatusBadRequest, Message: "Mark that you are sure. Nothing was deleted."}
	}
	return map[string]any{}, nil
}

// redelivery returns a request to send again one delivery, or all deliveries of a period.
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

// maxRequest limits the bytes of a delivery's body that a page shows.
const maxRequest = 64 << 10

// showDelivery serves GET ui/webhooks/<id>/deliveries/<delivery>: the request that is sent,
// and the answers.
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

// shownBody formats the body of a request. cut reports whether it is cut off.
func shownBody(request []byte) (text string, cut bool) {
	text = ui.IndentedJSON(request)
	if len(text) > maxRequest {
		return strings.ToValidUTF8(text[:maxRequest], ""), true
	}
	return text, len(text) < len(request)
}
