package pages

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
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
	SettledAt   time.Time       `json:"settledAt"`
	Request     json.RawMessage `json:"request"`
}

// whyWaiting are the words for why a delivery waits.
var whyWaiting = map[string]string{
	"turn": "for its turn", "sending": "is being sent", "retry": "for its next attempt",
	"resting": "the receiver rests", "paused": "the webhook is paused",
}

// WhyText says why a delivery waits.
func (d *webhookDelivery) WhyText() string { return whyWaiting[d.Why] }

// Latency is the time from the change to the end of the delivery.
func (d *webhookDelivery) Latency() string {
	if d.SettledAt.IsZero() {
		return ""
	}
	return latencyText(max(d.SettledAt.Sub(d.CommittedAt), 0))
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
}

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
}

// webhookDeliveries are a page of them.
type webhookDeliveries struct {
	listStretch
	Results []webhookDelivery `json:"results"`
}

// webhookPath is where the interface has something of a subscription.
func webhookPath(what, id string) string { return "api/webhook/" + what + url.PathEscape(id) }

// uuid returns a part of the path that is the id of something without an Oid. Others
// would lead to other requests than those of the page. Errors: *failure.
func (v *visit) uuid(name string) (string, error) {
	if id := v.r.PathValue(name); uuid.Validate(id) == nil && len(id) == len(uuid.Nil.String()) {
		return id, nil
	}
	return "", notFound()
}

// showWebhook serves GET ui/webhooks/<id>.
func showWebhook(v *visit) error { return v.webhookPage(webhookPage{}) }

func (v *visit) webhookPage(page webhookPage) error {
	id, err := v.uuid("id")
	if err != nil {
		return err
	}
	size, start, err := v.stretch()
	if err != nil {
		return err
	}
	page.State, page.States = v.param("state"), webhookStates
	if page.State == "" {
		page.State = webhookStates[0].Name
	}
	if !slices.ContainsFunc(webhookStates, func(s webhookState) bool { return s.Name == page.State }) {
		return &failure{Status: http.StatusBadRequest, Message: "There is no such state of deliveries."}
	}
	if err := v.api.get(webhookPath("", id), &page.webhook); err != nil {
		return err
	}
	path := stretchPath(webhookPath("deliveries/", id)+"?state="+page.State, size, start)
	if err := v.api.get(path, &page.Deliveries); err != nil {
		return err
	}
	if err := v.api.get(webhookPath("status/", id), &page.Receipts); err != nil {
		return err
	}
	page.Deliveries.Path, page.Deliveries.Query = v.p.base+"/ui/webhooks/"+url.PathEscape(id), url.Values{"state": {page.State}}
	v.stands(webhookPath("test/", id), "")
	v.stands(webhookPath("redeliver/", id), `{"delivery": "…"} or {"since": "2026-01-31T12:00:00Z", "until": "2026-01-31T13:00:00Z"}`)
	v.stands(webhookPath("", id), `{"paused": true} or {"enabled": false}`)
	v.stands(webhookPath("delete/", id), "")
	return v.render("webhook", page.WebhookID, &page)
}

// webhookActs are what the forms of a subscription's page send: the path, and the body
// made of the form.
var webhookActs = map[string]struct {
	path string
	body func(v *visit) (map[string]any, error)
}{
	"test":      {"test/", nothingToSend},
	"pause":     {"", fixedBody("paused", true)},
	"resume":    {"", fixedBody("paused", false)},
	"enable":    {"", fixedBody("enabled", true)},
	"disable":   {"", fixedBody("enabled", false)},
	"delete":    {"delete/", confirmed},
	"redeliver": {"redeliver/", redelivery},
}

func nothingToSend(*visit) (map[string]any, error) { return map[string]any{}, nil }

func fixedBody(key string, value bool) func(*visit) (map[string]any, error) {
	return func(*visit) (map[string]any, error) { return map[string]any{key: value}, nil }
}

// confirmed demands the mark without which nothing is deleted.
func confirmed(v *visit) (map[string]any, error) {
	if v.field("sure") == "" {
		return nil, &failure{Status: http.StatusBadRequest, Message: "Mark that you are sure. Nothing was deleted."}
	}
	return map[string]any{}, nil
}

// redelivery is what is to be sent again: one delivery, or those of a time.
func redelivery(v *visit) (map[string]any, error) {
	if id := v.field("delivery"); id != "" {
		return map[string]any{"delivery": id}, nil
	}
	body := map[string]any{}
	for _, name := range []string{"since", "until"} {
		text := v.field(name)
		if text == "" {
			continue
		}
		at, err := utcInstant(text)
		if err != nil {
			return nil, &failure{Status: http.StatusBadRequest, Message: name + " is no time such as 2026-01-31T12:00."}
		}
		body[name] = at.Format(time.RFC3339)
	}
	if body["since"] == nil {
		return nil, &failure{Status: http.StatusBadRequest, Message: "Say since when changes are to be sent again."}
	}
	return body, nil
}

// utcInstant reads what a field for a date and time sends.
func utcInstant(text string) (at time.Time, err error) {
	for _, form := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339, time.DateOnly} {
		if at, err = time.Parse(form, strings.Replace(strings.TrimSuffix(text, " UTC"), " ", "T", 1)); err == nil {
			return at.UTC(), nil
		}
	}
	return at, err
}

// actOnWebhook serves POST ui/webhooks/<id>/<act>.
func actOnWebhook(v *visit) error {
	name := v.r.PathValue("act")
	act, known := webhookActs[name]
	id, err := v.uuid("id")
	if err != nil || !known {
		return notFound()
	}
	body, err := act.body(v)
	var queued struct {
		Deliveries int `json:"deliveries"`
	}
	if err == nil {
		err = v.api.post(webhookPath(act.path, id), body, &queued)
	}
	refused, err := asFailure(err)
	switch {
	case err != nil:
		return err
	case refused != nil && (refused.Status == http.StatusForbidden || refused.Status == http.StatusNotFound && v.field("delivery") == ""):
		return refused
	case refused != nil:
		v.status = refused.Status
		return v.webhookPage(webhookPage{Message: readable(refused.Message)})
	case name == "delete":
		return v.to("/ui/webhooks?done=webhook-delete")
	case name == "redeliver" && queued.Deliveries == 0:
		return v.to("/ui/webhooks/" + url.PathEscape(id) + "?done=webhook-none")
	}
	return v.to("/ui/webhooks/" + url.PathEscape(id) + "?done=webhook-" + name)
}

// maxRequest is how much of the body of a delivery a page shows.
const maxRequest = 64 << 10

// showDelivery serves GET ui/webhooks/<id>/deliveries/<delivery>: what is sent, and what
// was answered.
func showDelivery(v *visit) error {
	id, err := v.uuid("id")
	if err != nil {
		return err
	}
	delivery, err := v.uuid("delivery")
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
	if err := v.api.get(webhookPath("", id), &page.Webhook); err != nil {
		return err
	}
	if err := v.api.get(webhookPath("delivery/", delivery), &page.webhookDelivery); err != nil {
		return err
	}
	var all []webhookReceipt
	if err := v.api.get(webhookPath("status/", id), &all); err != nil {
		return err
	}
	for _, r := range all {
		if r.DeliveryID == page.ID {
			page.Receipts = append(page.Receipts, r)
		}
	}
	page.Body, page.Cut = shownBody(page.Request)
	v.stands(webhookPath("redeliver/", id), `{"delivery": "`+page.ID+`"}`)
	return v.render("webhook_delivery", "Delivery", &page)
}

// shownBody is the body of a request as a page shows it, and whether it is cut short.
func shownBody(request []byte) (text string, cut bool) {
	text = indentedJSON(request)
	if len(text) > maxRequest {
		return strings.ToValidUTF8(text[:maxRequest], ""), true
	}
	return text, len(text) < len(request)
}
